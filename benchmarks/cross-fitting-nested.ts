/*
 * Whether agents of cross-fitting learn from a leak: the agent that decides a fold learns from judgements of the other folds, by
 * detectors that have seen the labels of the fold. Nested, a detector without both folds judges each of them. Both decide the same
 * threads, and their difference is printed with its 95% interval over threads. Usage:
 *
 *   node --import tsx benchmarks/cross-fitting-nested.ts --data folder-of-the-sets [--sets weibo,pheme] [--draws 1,2,3] [--labels 350]
 *     [--protocols cross-fitting,cross-validation]
 *
 * The sets and draws are those of benchmarks/cross-fitting.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { percent, signed } from '../experiments/report/shown-numbers.ts';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { crossFit } from '../experiments/stop-agent/cross-fitting.ts';
import { readJudged, readStops } from '../experiments/stop-agent/decided-files.ts';
import { agentName } from '../experiments/stop-agent/decisions.ts';
import { taskOf } from '../experiments/stop-agent/experiment.ts';
import { judgeForTraining } from '../experiments/stop-agent/judge-for-training.ts';
import type { TrialMaterial, TrialSettings } from '../experiments/stop-agent/prepare.ts';
import { runTrial } from '../experiments/stop-agent/trial.ts';
import type { JudgementSequence } from '../experts/judgement-sequence.ts';
import type { Thread } from '../src/data/thread.ts';
import { bootstrapGroups } from '../src/metrics/bootstrap.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { crossFittingSets, drawOf, protocolSchema, setNames, threadsOf } from './cross-fitting-draws.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    sets: { type: 'string', default: 'weibo,pheme' },
    draws: { type: 'string', default: '1,2,3' },
    labels: { type: 'string', default: '350' },
    protocols: { type: 'string', default: 'cross-fitting,cross-validation' },
  },
});
const folder = args.data;
if (folder === undefined) throw new Error('give the folder of the thread files with --data');

const backend = await selectBackend('auto');
const context = workContext();

/** The stops of all folds, in the order of the folds. */
interface Decided {
  readonly gold: readonly number[];
  readonly predicted: readonly number[];
  readonly read: readonly number[];
  readonly changed: readonly number[];
}

/** Trains the agents of the folds, and decides their threads. */
async function decided(trial: TrialSettings, folds: readonly TrialMaterial[], name: string): Promise<Decided> {
  const { labels } = taskOf(trial.experiment);
  const rows: { gold: number; predicted: number; read: number; changed: number }[] = [];
  for (const [index, material] of folds.entries()) {
    const directory = join(trial.directory, name, `fold-${index + 1}`);
    await runTrial({ ...trial, directory, material });
    const judged = readJudged(directory, 'test');
    const last = new Map(judged.map(({ threadId, sequence: { predicted } }) => [threadId, predicted.at(-1)]));
    for (const { system, threadId, gold, predicted, postsUsed, posts } of readStops(directory, {
      labels,
      part: 'test',
    }))
      if (system === agentName)
        rows.push({ gold, predicted, read: postsUsed / posts, changed: Number(predicted !== last.get(threadId)) });
  }
  return {
    gold: rows.map(({ gold }) => gold),
    predicted: rows.map(({ predicted }) => predicted),
    read: rows.map(({ read }) => read),
    changed: rows.map(({ changed }) => changed),
  };
}

/** The folds, where agents learn from judgements of detectors that have seen neither the judged fold nor the tested one. */
async function nestedFolds(trial: TrialSettings, folds: readonly TrialMaterial[]): Promise<TrialMaterial[]> {
  const { experiment, seed, cache } = trial;
  const nested = folds.map(() => new Map<string, JudgementSequence>());
  for (const [first, one] of folds.entries())
    for (const [place, other] of folds.slice(first + 1).entries()) {
      const second = first + 1 + place;
      const left = new Set([...one.parts.test, ...other.parts.test].map(({ id }) => id));
      const detectorThreads = one.parts.detector.filter(({ id }) => !left.has(id));
      const threads = [...one.parts.test, ...other.parts.test];
      const { sequences } = await judgeForTraining({ experiment, seed, cache, context }, { detectorThreads, threads });
      const copy = (of: readonly Thread[], to: number) => {
        for (const { id } of of) nested[to].set(id, sequences.get(id)!);
      };
      copy(one.parts.test, second);
      copy(other.parts.test, first);
    }
  return folds.map((fold, index) => ({ ...fold, sequences: new Map([...fold.sequences, ...nested[index]]) }));
}

const rows: string[][] = [];
for (const set of setNames.filter((name) => args.sets.split(',').includes(name))) {
  const threads = await threadsOf(set, folder);
  for (const protocol of protocolSchema.options.filter((name) => args.protocols.split(',').includes(name))) {
    const pairs: { plain: Decided; nested: Decided }[] = [];
    for (const draw of args.draws.split(',').map(Number)) {
      const runs = mkdtempSync(join(tmpdir(), 'earshot-nested-'));
      try {
        const nestedCase = { set, labels: Number(args.labels), draw, protocol, folds: 5, timing: 'init' } as const;
        const { experiment, data } = drawOf(nestedCase, { threads });
        const cache = await openCache(join(runs, 'cache'), experiment);
        const trial = { experiment, seed: draw, directory: join(runs, 'run'), data, cache, backend, context };
        const { folds } = await crossFit({ ...trial, context });
        const plain = await decided(trial, folds, 'plain');
        pairs.push({ plain, nested: await decided(trial, await nestedFolds(trial, folds), 'nested') });
        cache.annotations.close();
      } finally {
        rmSync(runs, { recursive: true, force: true });
      }
      console.error(`${set}, ${protocol}, draw ${draw}: done`);
    }
    rows.push(rowOf([crossFittingSets[set].title, protocol], pairs));
  }
}
console.log(
  markdownTable([
    [
      'set',
      'protocol',
      'draws',
      'macro-F1',
      'nested',
      'as it is − nested',
      'posts read',
      'nested',
      'changed',
      'nested',
    ],
    ...rows,
  ]),
);

function rowOf(head: readonly string[], pairs: readonly { plain: Decided; nested: Decided }[]): string[] {
  const f1 = ({ gold, predicted }: Decided, items: Int32Array) => macroF1({ gold, predicted, classes: 2, items });
  const intervals = bootstrapGroups({
    groups: pairs.map(({ plain }) => plain.gold.length),
    seed: 1,
    resamples: 1000,
    statistics(group, items) {
      const [plain, nested] = [f1(pairs[group].plain, items), f1(pairs[group].nested, items)];
      return [plain, nested, plain - nested];
    },
  });
  const [plain, nested, difference] = intervals;
  const shareOf = (name: 'read' | 'changed', of: 'plain' | 'nested') =>
    percent(mean(pairs.flatMap((pair) => pair[of][name])));
  return [
    ...head,
    String(pairs.length),
    plain.estimate.toFixed(3),
    nested.estimate.toFixed(3),
    `${signed(difference.estimate, 3)} [${signed(difference.low, 3)}, ${signed(difference.high, 3)}]`,
    ...[shareOf('read', 'plain'), shareOf('read', 'nested'), shareOf('changed', 'plain'), shareOf('changed', 'nested')],
  ];
}
