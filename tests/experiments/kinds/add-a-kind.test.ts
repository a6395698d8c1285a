import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { experimentResolver } from '../../../experiments/config/config-problems.ts';
import { experimentName, seedList } from '../../../experiments/config/experiment-file.ts';
import { type ExperimentKind, simpleExperiment } from '../../../experiments/kinds/experiment-kind.ts';
import { kinds } from '../../../experiments/kinds/kinds.ts';
import { kindReport } from '../../../experiments/report/kind-report.ts';
import { compareSystems } from '../../../experiments/run/compare-systems.ts';
import {
  type DecisionLine,
  decisionSchema,
  readDecisions,
  writeDecisions,
} from '../../../experiments/run/decisions-file.ts';
import { classIndices, type Metric } from '../../../experiments/run/metric.ts';
import { writeParts } from '../../../experiments/run/parts-file.ts';
import { type Scoring, scoresOf } from '../../../experiments/run/scoring.ts';
import { classificationScores } from '../../../src/metrics/classification.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';

/*
 * The recipe "add a kind of experiment" of CONTRIBUTING.md: a kind from outside, used by the commands. It calls every fourth coin
 * wrong, or every other one.
 */

const labels = ['heads', 'tails'];
const schema = z.strictObject({
  kind: z.literal('coins'),
  name: experimentName,
  description: z.string().default(''),
  seeds: seedList.default([1]),
  wrongEvery: z.int().min(2).default(4),
});
const resolve = experimentResolver(schema);

type Columns = ReturnType<typeof classIndices> & { items?: Int32Array };
const metrics: readonly Metric<Columns>[] = [
  { name: 'accuracy', title: 'accuracy', decimals: 3, range: [0, 1], of: (own) => classificationScores(own).accuracy },
];

function decisionsOf(
  part: DecisionLine['part'],
  { wrongEvery, seed }: { wrongEvery: number; seed: number },
): DecisionLine[] {
  return Array.from({ length: 40 }, (_, coin) => {
    const side = (coin + seed) % 2;
    const isWrong = coin % wrongEvery === 0;
    return {
      system: 'caller',
      item: `coin ${coin}`,
      event: null,
      part,
      place: {},
      gold: labels[side],
      prediction: labels[isWrong ? 1 - side : side],
      probabilities: null,
      numbers: { tosses: 1 },
      texts: {},
    };
  });
}

const scoring: Scoring<DecisionLine, Columns> = { metrics, columnsOf: (own) => classIndices(own, labels) };
const scoreOf = (path: string, part: 'test' | 'development') =>
  scoresOf(scoring, readDecisions(path, decisionSchema, part));

const coinsKind: ExperimentKind = {
  name: 'coins',
  schema,
  resolve(raw, source) {
    const experiment = resolve(raw, source);
    return { ...simpleExperiment(experiment), threadFiles: [], files: [], sweepProblem: null, asksModels: false };
  },
  soleVariant: 'caller',
  dataOverride: (path) => ({ data: path }),
  start:
    async () =>
    async ({ config, seed, directory }) => {
      const facts = { seed, backend: 'none', device: 'processor', hashes: {} };
      const run = RunDirectory.create(directory, { config, facts });
      writeParts(run, { test: [], development: [] });
      const { wrongEvery } = schema.parse(config);
      for (const part of ['development', 'test'] as const)
        writeDecisions(directory, decisionsOf(part, { wrongEvery, seed }), part);
      run.writeResult({ seed });
    },
  metrics,
  objective: 'accuracy',
  score: (path, part) => [
    { name: 'caller', role: 'learnt', values: scoreOf(path, part === 'test' ? 'test' : 'development') },
  ],
  learnt: 'caller',
  compare: (compared, { seed }) =>
    compareSystems(compared, {
      items: 'item',
      read: ({ path }) => readDecisions(path, decisionSchema),
      titleOf: () => 'All coins',
      scoringOf: () => scoring,
      seed,
    }),
  report: async () =>
    kindReport({
      read: ({ path }) => scoreOf(path, 'test'),
      json: (scores) => scores,
      of: ({ name, description, command }) => ({
        ...{ title: name, description, command, conclusion: 'Coins were called.', facts: ['data: none'] },
        ...{ tables: [], notes: [], next: [], sections: [] },
      }),
    }),
};

it('takes a kind from outside: trained, reported, compared and swept by the commands that are there', async () => {
  kinds.coins = async () => coinsKind;
  onTestFinished(() => void Reflect.deleteProperty(kinds, 'coins'));
  const variants = { careful: {}, careless: { wrongEvery: 2 } };
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'coins.yaml'), JSON.stringify({ kind: 'coins', name: 'coins', seeds: [1, 2], variants }));
  const trained = await earshot(['train', 'coins.yaml', '--json'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(JSON.parse(trained.out)).toEqual([
    { variant: 'careful', trials: [{ accuracy: 0.75 }, { accuracy: 0.75 }] },
    { variant: 'careless', trials: [{ accuracy: 0.5 }, { accuracy: 0.5 }] },
  ]);
  expect(readFileSync(join(cwd, 'runs/coins/report.md'), 'utf8')).toMatch(/^# coins\n\n\*\*Coins were called\.\*\*\n/);

  const compared = await earshot(['compare', 'runs/coins/careful', 'runs/coins/careless', '--json'], { cwd });
  expect(JSON.parse(compared.out)).toMatchObject({ threads: 80, seeds: 2, accuracy: { difference: 0.25 } });

  const sweep = {
    kind: 'sweep',
    name: 'swept',
    experiment: 'coins.yaml',
    variant: 'careful',
    space: { wrongEvery: [2, 4] },
  };
  writeFileSync(join(cwd, 'sweep.yaml'), JSON.stringify(sweep));
  const swept = await earshot(['sweep', 'sweep.yaml', '--json'], { cwd });
  expect(swept.code, swept.errors).toBe(0);
  const { leader, members } = JSON.parse(swept.out);
  expect(leader.settings).toEqual({ wrongEvery: 4 });
  expect(
    members.map(({ development }: { development: Record<string, { mean: number }> }) => development.accuracy.mean),
  ).toEqual([0.5, 0.75]);

  const options = await earshot(['options', 'coins', 'wrongEvery'], { cwd });
  expect(options.out).toContain('wrongEvery: integer; default 4');
  const exported = await earshot(['export', 'runs/coins/careful/seed-1', '--out', 'bundle'], { cwd });
  expect(exported).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/careful\/seed-1 holds no policy: .*; a run of a stop agent has one/),
  });
});
