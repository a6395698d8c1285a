import { Command } from '@commander-js/extra-typings';
import { dataDescribeCommand } from './data-describe.ts';
import { dataImportCommand } from './data-import.ts';
import { dataSplitCommand } from './data-split.ts';
import { dataSynthCommand } from './data-synth.ts';
import type { Terminal } from './terminal.ts';

export function dataCommand(terminal: Terminal) {
  return new Command('data')
    .description('Bring threads into one format, make some up, count them, split them.')
    .addCommand(dataImportCommand(terminal))
    .addCommand(dataSynthCommand(terminal))
    .addCommand(dataDescribeCommand(terminal))
    .addCommand(dataSplitCommand(terminal));
}
