import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import packageJson from '../../package.json' with { type: 'json' };
import { GuaranteeViolated, InputError, ProviderError } from '../../src/errors.ts';
import { severityOf } from '../run/failures.ts';
import { Interrupted, type Terminal, visibleTerminal } from './terminal.ts';

/** Every command, in the order of the help. Each declares its options cheaply, and its action loads what it needs. */
const commands: Readonly<Record<string, () => Promise<(terminal: Terminal) => CommandUnknownOpts>>> = {
  init: async () => (await import('./init.ts')).initCommand,
  data: async () => (await import('./data.ts')).dataCommand,
  label: async () => (await import('./label.ts')).labelCommand,
  annotate: async () => (await import('./annotate.ts')).annotateCommand,
  annotations: async () => (await import('./annotations.ts')).annotationsCommand,
  detect: async () => (await import('./detect.ts')).detectCommand,
  train: async () => (await import('./train.ts')).trainCommand,
  worker: async () => (await import('./worker.ts')).workerCommand,
  evaluate: async () => (await import('./evaluate.ts')).evaluateCommand,
  compare: async () => (await import('./compare.ts')).compareCommand,
  report: async () => (await import('./report.ts')).reportCommand,
  calibrate: async () => (await import('./calibrate.ts')).calibrateCommand,
  monitor: async () => (await import('./monitor.ts')).monitorCommand,
  decide: async () => (await import('./decide.ts')).decideCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  select: async () => (await import('./select.ts')).selectCommand,
  options: async () => (await import('./options.ts')).optionsCommand,
  backend: async () => (await import('./backend.ts')).backendCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
};

/**
 * Runs one command and returns its exit code: 0, 1 for the user's input, 2 for a service, 3 for a defect, 4 for an
 * alarm of `monitor`, 130 after an interruption. Errors are printed and never thrown.
 */
export async function runCommandLine(rawTerminal: Terminal): Promise<number> {
  const terminal = visibleTerminal(rawTerminal);
  try {
    const program = await commandLine(terminal, neededFor(terminal.words));
    await program.parseAsync(terminal.words, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, terminal);
  }
}

/** The commands to load: the named one, none for the version, all for help and for an unknown name. */
function neededFor([first = '']: readonly string[]): string[] {
  if (first === '-V' || first === '--version') return [];
  const name = first === 'sweep' ? 'train' : first;
  return Object.hasOwn(commands, name) ? [name] : Object.keys(commands);
}

/** Options of earlier versions, and what to use instead. */
const removed: Readonly<Record<string, string>> = {
  '--resume': '(removed: the same command resumes without it)',
  '--max-line-mb': '(removed: set EARSHOT_MAX_LINE_MB)',
  '--jobs': '(this command runs in one process)',
  'ratio-sweep': 'It was removed: use `earshot sweep experiments/recipes/ratio-pareto.yaml --data <threads>`.',
};

/** The commands with these names, each with its options. */
export async function commandLine(
  terminal: Terminal,
  names: readonly string[] = Object.keys(commands),
): Promise<Command> {
  const { stdout, stderr } = terminal;
  const program = new Command('earshot')
    .description('Train, test and compare small decision policies over social-media threads.')
    .version(packageJson.version)
    // A part of a command may have options of the same names.
    .enablePositionalOptions()
    .showHelpAfterError('(add --help for the options)')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError(text, write) {
        const [, instead = ''] = Object.entries(removed).find(([name]) => text.includes(` '${name}'`)) ?? [];
        write(`${`${text.trimEnd()} ${instead}`.trimEnd()}\n`);
      },
    })
    .exitOverride();
  for (const name of names) {
    const command = await commands[name]();
    program.addCommand(command(terminal));
  }
  passSettingsDown(program);
  return program;
}

/** Commander copies settings only to a subcommand that its parent makes. */
function passSettingsDown(command: CommandUnknownOpts): void {
  for (const part of command.commands) {
    part.copyInheritedSettings(command);
    passSettingsDown(part);
  }
}

/** Prints an error in its reader's words and returns the exit code. */
async function report(error: unknown, { stderr, words }: Terminal): Promise<number> {
  const code = exitCodeOf(error);
  if (isCommanders(error)) return code;
  if (code === 130) {
    const what =
      error instanceof Interrupted
        ? `${error.message}; give the same command again to go on`
        : 'stopped; the same command begins anew';
    stderr.write(`earshot: ${what}\n`);
  } else if (error instanceof GuaranteeViolated || error instanceof InputError || error instanceof ProviderError) {
    stderr.write(`earshot: ${error.message}\n`);
    const { QuotaSpentError } = await import('../../experts/llm/failures.ts');
    const { commandLineOf } = await import('./option-values.ts');
    if (error instanceof QuotaSpentError || error.cause instanceof QuotaSpentError)
      stderr.write(`To go on then: ${commandLineOf(words)}\n`);
  } else {
    stderr.write('earshot: this is a defect in Earshot; please report it with the lines below.\n');
    stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
  return code;
}

function exitCodeOf(error: unknown): number {
  if (isCommanders(error)) return 'exitCode' in error ? Number(error.exitCode) : 1;
  if (error instanceof Interrupted || (error instanceof Error && error.name === 'AbortError')) return 130;
  return error instanceof GuaranteeViolated ? 4 : severityOf(error);
}

/** Commander prints its own errors. */
function isCommanders(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}
