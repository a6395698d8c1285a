import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { InputError, ProviderError } from '../../src/errors.ts';
import { annotateCommand } from './annotate.ts';
import { annotationsCommand } from './annotations.ts';
import { compareCommand } from './compare.ts';
import { dataCommand } from './data.ts';
import { detectCommand } from './detect.ts';
import { doctorCommand } from './doctor.ts';
import { evaluateCommand } from './evaluate.ts';
import { jsdrvCommand } from './jsdrv.ts';
import { optionsCommand } from './options.ts';
import { reportCommand } from './report.ts';
import { trainCommand } from './train.ts';

const program = new Command('earshot')
  .description('Train, test and compare small decision policies over social-media threads.')
  .version(packageJson.version)
  .showHelpAfterError('(add --help for the options)')
  .exitOverride();

for (const command of [
  dataCommand(),
  annotateCommand(),
  annotationsCommand(),
  detectCommand(),
  trainCommand(),
  evaluateCommand(),
  compareCommand(),
  reportCommand(),
  jsdrvCommand(),
  optionsCommand(),
  doctorCommand(),
])
  program.addCommand(command.copyInheritedSettings(program));

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Prints an error the way its reader needs it and returns the exit code: 1 the user's input, 2 a provider, 3 a defect, 130 Ctrl-C. */
function report(error: unknown): number {
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('commander.'))
    return 'exitCode' in error ? Number(error.exitCode) : 1;
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write('earshot: stopped; give the same command again to go on\n');
    return 130;
  }
  if (error instanceof InputError || error instanceof ProviderError) {
    process.stderr.write(`earshot: ${error.message}\n`);
    return error instanceof InputError ? 1 : 2;
  }
  process.stderr.write(`earshot: this is a defect in Earshot; please report it with the lines below.\n`);
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  return 3;
}
