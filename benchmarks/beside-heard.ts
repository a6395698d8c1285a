/*
 * HEARD (Zeng & Gao, NAACL 2022), trained by its authors' code (https://github.com/znhy1024/HEARD), on the threads of
 * experiments/recipes/eard-tables.yaml. It trains a detector of its own, so it is given the labels of both parts that ours learn from, the
 * detector's and the demonstrations', a fifth of them to choose its checkpoint by; each seed's test threads are those of the recipe.
 *
 *   node --import tsx benchmarks/beside-heard.ts --checkout HEARD --python venv/bin/python --data threads.jsonl
 *     [--seeds 1,2,3,4,5] [--epochs 12] [--merge 1] [--analyzer word|char]
 *
 * `--merge`: posts that are read at once (their example has 10, which is all of a short thread). `--analyzer char` is for Chinese, whose words
 * no spaces part. published-heard.py says what was done to run it.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { readExperimentYaml } from '../experiments/config/experiment-file.ts';
import { resolveExperiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import { loadParts, openData } from '../experiments/stop-agent/parts.ts';
import type { Thread } from '../src/data/thread.ts';
import { InputError } from '../src/errors.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import { mean, meanAndDeviation } from '../src/metrics/summary-statistics.ts';

const { values: args } = parseArgs({
  options: {
    checkout: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    data: { type: 'string' },
    seeds: { type: 'string', default: '1,2,3,4,5' },
    epochs: { type: 'string', default: '12' },
    merge: { type: 'string', default: '1' },
    analyzer: { type: 'string', default: 'word' },
  },
});
const outcomeSchema = z.strictObject({
  torch: z.string(),
  seconds: z.number(),
  decisions: z.array(z.strictObject({ postsUsed: z.int().min(1), label: z.int() })),
});

const folder = mkdtempSync(join(tmpdir(), 'earshot-heard-'));
try {
  await main();
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const { checkout, data: path, seeds } = args;
  if (checkout === undefined || !existsSync(join(checkout, 'Model.py')))
    throw new InputError(
      `${checkout ?? '--checkout'} has no Model.py; give a checkout of znhy1024/HEARD with --checkout`,
    );
  if (path === undefined) throw new InputError('--data is missing; give the threads to train and to test on');
  const { variants: _, ...recipe } = await readExperimentYaml(
    join(import.meta.dirname, '../experiments/recipes/eard-tables.yaml'),
  );
  const experiment = resolveExperiment({ ...recipe, data: { threads: path } }, 'the benchmark');
  const data = await openData(experiment, console.error);
  const task = taskOf(experiment);
  const rows: { seed: string; macroF1: number; er: number; seconds: number }[] = [];
  for (const seed of seeds.split(',').map(Number)) {
    const { detector, demonstrations, test } = await loadParts(data, { experiment, seed });
    const labelled = [...detector, ...demonstrations];
    const isKept = (index: number) => index % 5 === 0;
    const keyed = (part: string, threads: readonly Thread[]) =>
      threads.map((thread, index) => [`${part}-${index}`, thread] as const);
    const parts = {
      train: keyed(
        'train',
        labelled.filter((_, index) => !isKept(index)),
      ),
      val: keyed(
        'val',
        labelled.filter((_, index) => isKept(index)),
      ),
      test: keyed('test', test),
    };
    const threads = Object.fromEntries(
      Object.values(parts).flatMap((each) =>
        each.map(([key, thread]) => [key, { label: task.goldLabel(thread), ...heardThread(thread) }]),
      ),
    );
    const keys = Object.fromEntries(Object.entries(parts).map(([part, keyed]) => [part, keyed.map(([key]) => key)]));
    writeFileSync(join(folder, 'heard.json'), JSON.stringify({ threads, ...keys }));
    const { decisions, seconds } = await trainTheirs(seed);
    const { macroF1 } = classificationScores({
      classes: task.labels.length,
      gold: test.map((thread) => task.goldLabel(thread) ?? -1),
      predicted: decisions.map(({ label }) => label),
    });
    const er = mean(decisions.map(({ postsUsed }, index) => postsUsed / test[index].posts.length));
    console.log(
      `seed ${seed}: macro-F1 ${macroF1.toFixed(3)}, ER ${er.toFixed(3)}, ${seconds.toFixed(0)} s of training`,
    );
    rows.push({ seed: String(seed), macroF1, er, seconds });
  }
  const spread = (values: readonly number[]) => {
    const { mean: middle, deviation } = meanAndDeviation(values);
    return `${middle.toFixed(3)}${deviation === null ? '' : ` ± ${deviation.toFixed(3)}`}`;
  };
  const cells = [path, spread(rows.map((each) => each.macroF1)), spread(rows.map((each) => each.er))];
  console.log(`\n${markdownTable([['data', 'macro-F1', 'ER'], cells])}`);
}

/** Seconds and texts. A post without a time is a second after the one before it: their model takes no gaps. */
function heardThread({ posts }: Thread) {
  const times: number[] = [];
  for (const { time } of posts) {
    const last = times.at(-1);
    const seconds = time === null ? (last ?? 0) + 1 : Date.parse(time) / 1000;
    times.push(last === undefined ? seconds : Math.max(seconds, last));
  }
  return { times, texts: posts.map(({ text }) => text) };
}

async function trainTheirs(seed: number): Promise<z.infer<typeof outcomeSchema>> {
  const { checkout = '', python, epochs, merge, analyzer } = args;
  const script = join(import.meta.dirname, 'published-heard.py');
  const words = [
    script,
    checkout,
    folder,
    '--seed',
    `${seed}`,
    '--epochs',
    epochs,
    '--merge',
    merge,
    '--analyzer',
    analyzer,
  ];
  const env = { ...process.env, OMP_NUM_THREADS: '1', PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)(python, words, { env, maxBuffer: 2 ** 26 }).catch((error: Error) => {
    throw new InputError(
      `HEARD's code failed; it needs torch and scikit-learn. ${error.message.trim().split('\n').at(-1)}`,
    );
  });
  return outcomeSchema.parse(JSON.parse(stdout));
}
