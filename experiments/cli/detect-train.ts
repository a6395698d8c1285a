import { taskIn } from '../../src/data/classes-of-labels.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { quoted } from '../../src/shell-words.ts';
import type { PlainObject } from '../config/overrides.ts';
import { wrapped } from '../report/narrow-table.ts';
import { numbersTable } from '../report/numbers-table.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

/** What `detect --train` is asked for. */
export interface DetectTrainOptions {
  /** The task with the most labels unless given. */
  task?: string;
  set: readonly string[];
  limit?: number;
  seed: number;
  skipInvalid?: boolean;
  json?: boolean;
  terminal: Terminal;
}

const whatToDo =
  'label more threads, above all of the rarer labels, or try a sentence encoder (docs/how-to/choose-an-encoder.md)';

/** Tests the local detector on one's own labels by cross-validation, and prints what it is worth. */
export async function detectTrain(path: string, options: DetectTrainOptions): Promise<void> {
  const { set, limit, seed, skipInvalid, json, terminal } = options;
  const { stdout, stderr } = terminal;
  const [
    { checkedConfig },
    { mergeDeep, parseOverride },
    { localDetectorOptionsSchema },
    { foundIn },
    { crossValidate },
    truths,
    { watched },
  ] = await Promise.all([
    import('../config/config-problems.ts'),
    import('../config/overrides.ts'),
    import('../../experts/detectors/local/train-local-detector.ts'),
    import('../init/found-threads.ts'),
    import('../judging/cached-detector.ts'),
    import('../stop-agent/report/detector-truth.ts'),
    import('./progress.ts'),
  ]);
  const detector = checkedConfig({
    schema: localDetectorOptionsSchema,
    input: set.map(parseOverride).reduce<PlainObject>(mergeDeep, {}),
    wrong: "the local detector's options (--set) are wrong",
  });
  const { task, heldOut } = await watched(path, terminal, async (context) => {
    const threads = await loadThreads(path, { skipInvalid, onSkipped: context.onNote });
    const task =
      options.task === undefined ? foundIn(threads, path).tasks[0].task : taskIn(threads, { name: options.task, path });
    return { task, heldOut: await crossValidate({ threads, task, limit, seed, detector, context }) };
  });
  if (json) return printJson(terminal, { threads: path, task: task.name, seed, heldOut });
  const truth = truths.detectorTruth([heldOut], { whatToDo });
  const { heading, rows } = truths.detectorTruthTable(truth);
  const conclusion = truth.problem ?? 'The detector tells the labels apart better than guessing.';
  const width = proseWidth(terminal);
  stdout.write(
    `The local detector on ${heldOut.threads} threads labelled for ${task.name}, each judged by one that has not seen it\n\n` +
      `${numbersTable(heading, rows)}\n\n${wrapped(conclusion, { width })}\n`,
  );
  stderr.write(`\nNext: npx earshot init ${quoted(path)}\n`);
}
