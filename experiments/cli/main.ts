import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { InputError, ProviderError } from '../../src/errors.ts';
import { severityOf } from '../run/run-in-processes.ts';
import { annotateCommand } from './annotate.ts';
import { annotationsCommand } from './annotations.ts';
import { backendCommand } from './backend.ts';
import { compareCommand } from './compare.ts';
import { dataCommand } from './data.ts';
import { decideCommand } from './decide.ts';
import { detectCommand } from './detect.ts';
import { doctorCommand } from './doctor.ts';
import { evaluateCommand } from './evaluate.ts';
import { exportCommand } from './export.ts';
import { initCommand } from './init.ts';
import { optionsCommand } from './options.ts';
import { reportCommand } from './report.ts';
import { selectCommand } from './select.ts';
import { serveCommand } from './serve.ts';
import { sweepCommand } from './sweep.ts';
import { Interrupted, ReportedElsewhere, type Terminal } from './terminal.ts';
import { trainCommand } from './train.ts';
import { workerCommand } from './worker.ts';

/**
 * Runs one command and returns its exit code: 0, 1 for the user's input, 2 for a service, 3 for a defect, 130 when it was
 * interrupted. Errors are printed, never thrown, and the process goes on.
 */
export async function runCommandLine(terminal: Terminal): Promise<number> {
  const program = commandLine(terminal);
  try {
    await program.parseAsync(terminal.words, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, terminal);
  }
}

/** Every command with its options. */
export function commandLine(terminal: Terminal): Command {
  const { stdout, stderr } = terminal;
  const program = new Command('earshot')
    .description('Train, test and compare small decision policies over social-media threads.')
    .version(packageJson.version)
    .showHelpAfterError('(add --help for the options)')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
  const commands = [
    initCommand,
    dataCommand,
    annotateCommand,
    annotationsCommand,
    detectCommand,
    trainCommand,
    sweepCommand,
    workerCommand,
    evaluateCommand,
    compareCommand,
    reportCommand,
    decideCommand,
    exportCommand,
    serveCommand,
    selectCommand,
    optionsCommand,
    backendCommand,
    doctorCommand,
  ];
  for (const command of commands) program.addCommand(command(terminal));
  passSettingsDown(program);
  return program;
}

/** Commander copies settings only to a subcommand that its parent makes. */
function passSettingsDown(command: Command): void {
  for (const part of command.commands) {
    part.copyInheritedSettings(command);
    passSettingsDown(part);
  }
}

/** Prints an error the way its reader needs it and returns the exit code. */
function report(error: unknown, { stderr }: Terminal): number {
  if (error instanceof ReportedElsewhere) return exitCodeOf(error.cause);
  const code = exitCodeOf(error);
  if (isCommanders(error)) return code;
  if (code === 130) {
    const what = error instanceof Interrupted ? error.message : 'stopped';
    stderr.write(`earshot: ${what}; give the same command again to go on\n`);
  } else if (error instanceof InputError || error instanceof ProviderError) {
    stderr.write(`earshot: ${error.message}\n`);
  } else {
    stderr.write('earshot: this is a defect in Earshot; please report it with the lines below.\n');
    stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
  return code;
}

function exitCodeOf(error: unknown): number {
  if (isCommanders(error)) return 'exitCode' in error ? Number(error.exitCode) : 1;
  if (error instanceof Interrupted || (error instanceof Error && error.name === 'AbortError')) return 130;
  return severityOf(error);
}

/** Commander prints its own errors. */
function isCommanders(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}
