import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { threadLines } from '../experiments/cli/command-line.ts';

/*
 * The recipes of CONTRIBUTING.md for an importer, a detector, a trainer and a metric, followed in a copy of the sources: the files that
 * each names are added or edited, and the command line takes what is new. (A kind of experiment: add-a-kind.test.ts.)
 */

const home = join(import.meta.dirname, '../..');
const folders = ['src', 'envs', 'experts', 'checkpoints', 'trainers', 'experiments'];
const copy = mkdtempSync(join(tmpdir(), 'earshot-copy-'));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

beforeAll(() => {
  for (const name of [...folders, 'package.json', 'tsconfig.json'])
    cpSync(join(home, name), join(copy, name), { recursive: true });
  symlinkSync(join(home, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, 'threads.jsonl'), threadLines(60));
});

function add(path: string, text: string): void {
  writeFileSync(join(copy, path), text);
}

/** Puts a line before a text that stands in a file once. */
function insert(path: string, line: string, before: string): void {
  const text = readFileSync(join(copy, path), 'utf8');
  expect(text.split(before), `${path} has ${before} once`).toHaveLength(2);
  writeFileSync(join(copy, path), text.replace(before, `${line}${before}`));
}

async function earshot(...words: string[]): Promise<string> {
  const program = join(copy, 'experiments/cli/earshot.mjs');
  return (await promisify(execFile)(process.execPath, [program, ...words], { cwd: copy })).stdout;
}

it('an importer: one file, and its name in the list', async () => {
  add(
    'src/data/importers/lines.ts',
    `import { readWholeText } from '../text-lines.ts';
import { assembleThread } from './assemble-thread.ts';
import type { Importer } from './importer.ts';

export const linesImporter: Importer = {
  name: 'lines',
  description: 'a text file per thread, with a post in each line',
  expects: 'one or more .txt files',
  takes: ['encoding'],
  async *read(paths, options) {
    for (const path of paths) {
      const texts = (await readWholeText(path, options)).trim().split('\\n');
      yield assembleThread({ id: path, posts: texts.map((text, place) => ({ id: String(place), text })) }, path);
    }
  },
};
`,
  );
  const list = 'src/data/import-threads.ts';
  insert(list, "import { linesImporter } from './importers/lines.ts';\n", 'import { parquetImporter }');
  insert(list, '  linesImporter,\n', '  parquetImporter,');
  writeFileSync(join(copy, 'dam.txt'), 'A dam broke\nIs that so?\n');
  await earshot('data', 'import', 'lines', 'dam.txt', '--out', 'dam.jsonl');
  const { posts } = JSON.parse(readFileSync(join(copy, 'dam.jsonl'), 'utf8'));
  expect(posts.map(({ text }: { text: string }) => text)).toEqual(['A dam broke', 'Is that so?']);
  expect(await earshot('data', 'import', '--help')).toContain('a text file per thread, with a post in each line');
});

it('a detector: one file, its options in the union, a line in createDetector', async () => {
  add(
    'experts/detectors/always.ts',
    `import { z } from 'zod';
import type { Detector } from '../detector.ts';
import { type JudgingTask, judgementLabels } from '../tasks/task-file.ts';

export const alwaysOptionsSchema = z.strictObject({ name: z.literal('always'), label: z.string() });

export function createAlways({ label, task }: { label: string; task: JudgingTask }): Detector {
  return {
    name: 'always',
    version: '1',
    options: { label, task },
    labels: judgementLabels(task),
    judge: async () => ({
      label,
      probabilities: null,
      explanation: '',
      transcript: [],
      usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
    }),
  };
}
`,
  );
  const union = 'experts/detectors/create-detector.ts';
  insert(union, "import { alwaysOptionsSchema, createAlways } from './always.ts';\n", 'import { cascade, ');
  insert(union, '  alwaysOptionsSchema,\n', '  zofiaOptionsSchema,\n');
  insert(union, "    case 'always':\n      return createAlways({ ...config, ...shared });\n", "    case 'cascade':");
  add('always.yaml', 'task: rumor\ndetector: { name: always, label: rumor }\n');
  const out = await earshot('detect', 'threads.jsonl', '--detector', 'always.yaml', '--json');
  // Half of the threads are rumors, so one label has the F1 of 2/3 and the other one none.
  expect(out).toMatch(/"macroF1": 0\.333/);
});

it('a trainer: its algorithm, its name, a line in createStopAgent', async () => {
  add(
    'trainers/stop-agent/untrained-trainer.ts',
    `import type { Trainer } from '../trainer.ts';
import { learnerArrays, learnerPolicy } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';
import { createLearner, disposeLearner } from './setup.ts';

/** Leaves the network as it was drawn. */
export async function createUntrained(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  const learner = await createLearner(settings, { hasCritic: false });
  let iteration = 0;
  return {
    algorithm: 'untrained',
    iterations: settings.config.iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      iteration++;
      return { 'untrained/loss': 0 };
    },
    policy: () => learnerPolicy(learner),
    state: async () => ({
      arrays: await learnerArrays(learner),
      values: { iteration },
    }),
    restore() {},
    dispose: () => disposeLearner(learner),
  };
}
`,
  );
  insert('trainers/stop-agent/config.ts', "'untrained', ", "'settled', 'dqn'] as const");
  const create = 'trainers/stop-agent/create.ts';
  insert(create, "import { createUntrained } from './untrained-trainer.ts';\n", 'import type { StopPolicy }');
  insert(create, '  untrained: createUntrained,\n', '  dqn: createDqn,');
  add(
    'untrained.yaml',
    JSON.stringify({
      name: 'untrained',
      backend: 'cpu',
      seeds: [1],
      data: { threads: 'threads.jsonl' },
      split: { detector: 20, demonstrations: 10, environment: 4 },
      encoder: { name: 'hashing', dimensions: 8 },
      agent: { algorithm: 'untrained', iterations: 2, hidden: 4 },
    }),
  );
  await earshot('train', 'untrained.yaml', '--no-html');
  expect(readFileSync(join(copy, 'runs/untrained/agent/seed-1/metrics.jsonl'), 'utf8')).toContain('untrained/loss');
});

it('a metric: one entry in stopMetrics, for runs that are there already', async () => {
  insert(
    'experiments/stop-agent/metrics.ts',
    `  {
    name: 'stopsAtClaim',
    title: 'unread',
    ...share,
    isResampled: true,
    of: ({ postsUsed, items }) => items.reduce((sum, item) => sum + Number(postsUsed[item] === 1), 0) / items.length,
  },
`,
    "  { name: 'er',",
  );
  const run = 'runs/untrained/agent';
  const out = JSON.parse(await earshot('compare', run, run, '--second-system', 'first post', '--json'));
  expect(out.stopsAtClaim.difference).toBeLessThanOrEqual(0);
  const scores = await earshot('evaluate', `${run}/seed-1`, '--data', 'threads.jsonl', '--include-trained');
  expect(scores).toContain('unread');
});
