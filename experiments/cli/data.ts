import { Command } from 'commander';
import { dataDescribeCommand } from './data-describe.ts';
import { dataImportCommand } from './data-import.ts';
import { dataSplitCommand } from './data-split.ts';
import { dataSynthCommand } from './data-synth.ts';

export function dataCommand(): Command {
  const command = new Command('data')
    .description('Bring threads into one format, make some up, count them, split them.')
    .showHelpAfterError('(add --help for the options)');
  const parts = [dataImportCommand(), dataSynthCommand(), dataDescribeCommand(), dataSplitCommand()];
  for (const part of parts) command.addCommand(part.copyInheritedSettings(command));
  return command;
}
