/*
 * Whether adaptive stopping can pay on a set with a detector, from finished runs. Usage:
 *
 *   node --import tsx benchmarks/can-stopping-pay.ts runs/covid-rumors/hashing runs/covid-rumors/minilm
 *
 * Means over the seeds of each folder, on the part that the runs were evaluated on. Columns, each macro-F1 at ER:
 *
 *   first post, all posts       two fixed rules
 *   best rule, one call         of those that stop after so many posts or hours, by macro-F1 on these very threads
 *   best rule, every post       of the confidence thresholds that ask at every post, likewise
 *   settled                     stops where the judgement first becomes what it is at the end and stays: knows all judgements,
 *                               no labels. As good as all posts, as early as that can be
 *   label-aware bound           stops at the first right judgement: out of reach
 *
 * Stopping can pay where the last two are far above the rules that are as early.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from 'markdown-table';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { readJudged } from '../experiments/stop-agent/decided-files.ts';
import { agentName, decide, isLearnt, type SystemDecisions } from '../experiments/stop-agent/decisions.ts';
import { experimentSchema, taskOf } from '../experiments/stop-agent/experiment.ts';
import { scoreSystem } from '../experiments/stop-agent/metrics.ts';
import { systemsOfRun } from '../experiments/stop-agent/result.ts';

const settledName = 'settled';

interface Score {
  readonly name: string;
  readonly calls: SystemDecisions['calls'];
  readonly macroF1: number;
  readonly er: number;
  readonly callsPerThread: number;
}

const folders = process.argv.slice(2);
if (folders.length === 0) throw new Error('give folders of finished runs, such as runs/covid-rumors/hashing');
const rows = folders.map((folder) => {
  const seeds = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, 'result.json')));
  const scores = meanScores(seeds.map(scoresOfRun));
  const of = (name: string) => scores.find((score) => score.name === name);
  const best = (calls: Score['calls']) =>
    scores
      .filter((score) => score.calls === calls && !isLearnt(score.name) && score.name !== settledName)
      .reduce((left, right) => (right.macroF1 > left.macroF1 ? right : left));
  return [
    folder.split('/').slice(-2).join(' '),
    String(seeds.length),
    ...[of('first post'), of('all posts')].map(shown),
    ...[best('one'), best('every')].map((score) => `${shown(score)}, ${score.name}`),
    ...[of(settledName), of('label-aware bound'), of(agentName)].map(shown),
    (of(agentName)?.callsPerThread ?? Number.NaN).toFixed(1),
  ];
});
console.log(
  markdownTable([
    [
      'runs',
      'seeds',
      'first post',
      'all posts',
      'best rule, one call',
      'best rule, every post',
      'settled',
      'label-aware bound',
      'agent',
      'its calls',
    ],
    ...rows,
  ]),
);

function shown(score: Score | undefined): string {
  return score === undefined ? '–' : `${score.macroF1.toFixed(3)} at ${score.er.toFixed(3)}`;
}

function scoresOfRun(path: string): Score[] {
  const run = RunDirectory.open(path);
  const experiment = run.readConfig(experimentSchema);
  const judged = readJudged(path, experiment.evaluation.part);
  const settled = judged.map(({ input: { sequence } }) => {
    const { predicted } = sequence;
    let step = predicted.length - 1;
    while (step > 0 && predicted[step - 1] === predicted[step]) step--;
    return step;
  });
  const systems = [...systemsOfRun(run), { ...decide(settledName, judged, settled), calls: 'oracle' as const }];
  return systems.map((system) => {
    const { values } = scoreSystem(system, { labels: taskOf(experiment).labels });
    const { macroF1, er, callsPerThread } = values;
    return {
      name: system.name,
      calls: system.calls,
      macroF1: macroF1 ?? Number.NaN,
      er: er ?? Number.NaN,
      callsPerThread: callsPerThread ?? Number.NaN,
    };
  });
}

function meanScores(perSeed: readonly Score[][]): Score[] {
  const common = perSeed[0].filter(({ name }) => perSeed.every((own) => own.some((score) => score.name === name)));
  return common.map(({ name, calls }) => {
    const own = perSeed.flatMap((scores) => scores.filter((score) => score.name === name));
    const mean = (of: (score: Score) => number) => own.reduce((sum, score) => sum + of(score), 0) / own.length;
    return {
      name,
      calls,
      macroF1: mean((score) => score.macroF1),
      er: mean((score) => score.er),
      callsPerThread: mean((score) => score.callsPerThread),
    };
  });
}
