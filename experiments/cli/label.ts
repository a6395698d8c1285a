import { createInterface } from 'node:readline';
import { Command, Option } from '@commander-js/extra-typings';
import { counted } from '../../src/counted.ts';
import { mostClasses } from '../../src/data/classes-of-labels.ts';
import { isFairTest } from '../../src/data/thread.ts';
import { loadThreads, writeThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { present } from '../../src/present.ts';
import { quoted } from '../../src/shell-words.ts';
import { fewestLabelled } from '../init/found-threads.ts';
import type { LabelFormat } from '../labelling/label-elsewhere.ts';
import type { Labelling } from '../labelling/labelling.ts';
import { wrapped } from '../report/terminal-text.ts';
import { list, type OptionsOf, optionValue, port, positiveInteger, seed } from './option-values.ts';
import { answeringWords, answerLinesOption } from './shared-options.ts';
import { proseWidth, type Terminal } from './terminal.ts';

export function labelCommand(terminal: Terminal) {
  return labelOptions().action((threads, options) => labelThreads(threads, { ...options, terminal }));
}

type LabelOptions = OptionsOf<typeof labelOptions> & { terminal: Terminal };

function labelOptions() {
  return new Command('label')
    .description('Label threads on a page of this machine: some at random, and those that a detector is least sure of.')
    .argument('<threads>', 'thread file, .jsonl or .jsonl.gz')
    .requiredOption('--label <name>', 'the label that is given, such as outcome; or rumor, veracity, rumor-veracity')
    .option(
      '--classes <names>',
      'its classes with commas between them, in the order of the keys; the first time',
      classNames,
    )
    .option(
      '--annotator <name>',
      'who labels; several people may label one file at once, each by a name',
      annotator,
      'me',
    )
    .option('--labels <file>', 'file that the answers are added to (default: <threads>.<label>.labels.jsonl)')
    .option('-o, --out <file>', 'thread file with the labels, for other commands (default: <threads>.labelled.jsonl)')
    .addOption(
      new Option('--strategy <which>', 'margin chooses most threads by what the detector is least sure of')
        .choices(['margin', 'random'] as const)
        .default('margin' as const),
    )
    .option(
      '--annotations <store>',
      'store of earshot annotate whose judgements choose, such as those of a language model',
    )
    .option('--seed <number>', 'seed of the order by chance; the first time', seed, 1)
    .option('--port <number>', 'port of the page; 0 chooses a free one', port, 0)
    .option('--next <count>', 'write so many threads to label elsewhere, with one of the next four', positiveInteger)
    .option('--csv <file>', 'with --next: a table for a spreadsheet')
    .option('--label-studio <file>', 'with --next: tasks for Label Studio')
    .option('--argilla <file>', 'with --next: records for Argilla')
    .option('--doccano <file>', 'with --next: examples for doccano')
    .option('--read <file>', 'take the labels of such a table, or of what one of these programs exported')
    .option('--skip-invalid', 'leave invalid threads out instead of stopping')
    .addOption(answerLinesOption)
    .addHelpText(
      'after',
      `
On the page, 1 to 9 give the class, t means can't tell, s skips and u takes back the last answer. Every answer is on the disk
before the next thread is shown, so the same command resumes after Ctrl-C or a crash.

40 threads are drawn at random. Then six of ten are those whose class the detector is least sure of, and four are drawn at random.
While the detector hardly agrees with people on labels that it did not learn from, all are drawn at random. It learns again every
ten labels. detect --train and train learn from all labels, and test on those that were drawn at random; once these are enough, not
on the first ones, which chose others. One thread in twenty is asked again.

Examples:
  earshot label threads.jsonl --label outcome --classes resolved,escalated
  earshot label threads.jsonl --label outcome --annotator anna
  earshot label threads.jsonl --label outcome --annotations judged.sqlite
  earshot label threads.jsonl --label outcome --next 50 --csv next.csv
  earshot label threads.jsonl --label outcome --read next.csv`,
    );
}

const annotator = optionValue((name) => (name.trim() === '' ? null : name), 'It must be the name of whoever labels.');

const classNames = optionValue((text) => {
  const names = list(text);
  const areValid = names.every((name) => name !== '') && new Set(names).size === names.length;
  return areValid && names.length >= 2 && names.length <= mostClasses ? names : null;
}, `A label has 2 to ${mostClasses} different classes, such as resolved,escalated.`);

async function labelThreads(path: string, options: LabelOptions): Promise<void> {
  const { terminal, label, classes, annotator, strategy, annotations, next, seed } = options;
  const { stderr } = terminal;
  const formats: readonly LabelFormat[] = ['csv', 'labelStudio', 'argilla', 'doccano'];
  const targets = formats.flatMap((format) => present([options[format]]).map((file) => ({ format, file })));
  if (targets.length !== (next === undefined ? 0 : 1))
    throw new InputError(
      '--next takes the file to write to, and such a file takes --next: give both, such as --next 50 --csv next.csv',
    );
  const { openLabelling } = await import('../labelling/labelling.ts');
  // Both files also follow from the name of the labelled one.
  const stem = path.replace(/(\.labelled)?\.jsonl(\.gz)?$/i, '');
  const { labels = `${stem}.${label}.labels.jsonl`, out = `${stem}.labelled.jsonl` } = options;
  const onNote = (line: string) => void stderr.write(`${line}\n`);
  const threads = await loadThreads(path, { skipInvalid: options.skipInvalid, onSkipped: onNote });
  const labelling = openLabelling(threads, { label, labels, seed, classes, annotations });
  if (options.answerLines === true) return answerLines(labelling, terminal);
  const [isRandom, now] = [strategy === 'random', () => new Date()];
  if (next !== undefined || options.read !== undefined) {
    const { readLabels, writeNext } = await import('../labelling/label-elsewhere.ts');
    if (options.read !== undefined) {
      const added = await readLabels(options.read, { labelling, annotator, now });
      onNote(`${options.read}: ${counted(added, 'label')} read`);
    }
    for (const { format, file } of targets) {
      const written = await writeNext(file, { labelling, count: next ?? 0, isRandom, format });
      const how = format === 'csv' ? 'fill in the column class, then' : 'label them there, export them, then';
      onNote(`${file}: ${counted(written, 'thread')} to label; ${how} give --read`);
    }
  } else {
    const [{ serveLabels }, { lineProcess }] = await Promise.all([
      import('../labelling/label-server.ts'),
      import('../run/line-processes.ts'),
    ]);
    const ending = terminal.interruptSignal('writing the labels');
    // A training takes seconds, in which this process would show nothing.
    const learner = lineProcess(answeringWords(terminal));
    const learn = async () => JSON.parse(await learner.ask(''));
    const server = await serveLabels(labelling, { annotator, port: options.port, isRandom, learn, now, onNote });
    onNote(`earshot: label at ${server.address} as ${annotator}; Ctrl-C ends it, and every answer is saved`);
    if (!ending.aborted) await new Promise((resolve) => ending.addEventListener('abort', resolve, { once: true }));
    await server.stop();
    learner.end().catch(() => {});
  }
  await writeLabelled(labelling, { out, terminal });
}

/** Answers each line of standard input with a training. */
async function answerLines(labelling: Labelling, { stdin, stdout }: Terminal): Promise<void> {
  for await (const _ of createInterface({ input: stdin })) stdout.write(`${JSON.stringify(await labelling.learn())}\n`);
}

/** Writes the labelled threads and prints the next command. */
async function writeLabelled(labelling: Labelling, of: { out: string; terminal: Terminal }): Promise<void> {
  const { out, terminal } = of;
  const { task } = labelling;
  const threads = labelling.labelled();
  await writeThreads(out, threads);
  const labelled = threads.filter((thread) => task.goldLabel(thread) !== null);
  const fair = labelled.filter(isFairTest).length;
  const uses =
    labelled.length === 0
      ? ''
      : ` All of them train, and ${fair} test: those that were drawn at random and had no part in the choice.`;
  const text = `Wrote ${out}: ${labelled.length} of ${threads.length} threads have the label ${task.name}.${uses}`;
  terminal.stdout.write(`${wrapped(text, { width: proseWidth(terminal) })}\n`);
  if (labelled.length < fewestLabelled)
    return void terminal.stdout.write(
      `Next: the same command again; a policy takes at least ${fewestLabelled} labels\n`,
    );
  const file = `${quoted(out)} --task ${quoted(task.name)}`;
  terminal.stdout.write(`Next: npx earshot detect ${file} --train\n      npx earshot init ${file}\n`);
}
