/*
 * Iterations, and seconds of the processor, until the discriminator's loss falls below some levels: with sampled steps and
 * with exact occupancies (trainers/exact-gail.ts), from the same seeds, in turns. The policy stands still, so that both
 * chase the same target, and the loss is computed the same way for both: over all threads of the environment and all
 * demonstrations, without the penalty, as a share of what it is when every logit is 0. Usage:
 *
 *   taskset -c 0 node --import tsx benchmarks/exact-gail.ts [--backend wasm] [--dimensions 256] [--seeds 1,2]
 *     [--below 0.9,0.7] [--iterations 60] [--learning-rate 1e-4]
 */
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { paperShapedProblem } from '../experiments/run/time-training-step.ts';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { columnMoments, standardized } from '../src/tensor/normalizer.ts';
import { workContext } from '../src/work-context.ts';
import { logitsOfBothActions } from '../trainers/discriminator.ts';
import { occupancyOf } from '../trainers/exact-gail.ts';
import { type StopAgentConfig, stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';
import { pairsOf } from '../trainers/stop-agent/setup.ts';
import { threadStates } from '../trainers/thread-mdp.ts';
import type { MemberState } from '../trainers/trainer.ts';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'wasm' },
    dimensions: { type: 'string', default: '256' },
    seeds: { type: 'string', default: '1,2' },
    below: { type: 'string', default: '0.9,0.7' },
    iterations: { type: 'string', default: '60' },
    'learning-rate': { type: 'string', default: '1e-4' },
  },
});
await selectBackend(backendSchema.parse(options.backend));
const problem = paperShapedProblem(Number(options.dimensions));
const levels = options.below.split(',').map(Number);
const states = standardized(problem.table, columnMoments(problem.table));

const rows: string[][] = [];
for (const seed of options.seeds.split(',').map(Number))
  for (const rollout of ['sampled', 'exact'] as const)
    for (const { level, iteration, seconds } of await reached({ seed, rollout }))
      rows.push([String(seed), rollout, String(level), String(iteration ?? '–'), seconds?.toFixed(2) ?? '–']);
console.log(markdownTable([['seed', 'rollout', 'loss below', 'iterations', 'processor seconds'], ...rows]));

/** When each level was first reached; the time of looking does not count. */
async function reached({ seed, rollout }: { seed: number; rollout: 'sampled' | 'exact' }) {
  const iterations = Number(options.iterations);
  const config = stopAgentSchema.parse({
    iterations,
    imitation: {
      rollout,
      ppo: { learningRate: 1e-12 },
      discriminator: { learningRate: Number(options['learning-rate']), warmupIterations: 0 },
    },
  });
  const trainer = await createImitation([{ seed, config, problem }]);
  const found = levels.map((level) => ({ level, iteration: NaN, seconds: NaN }));
  let seconds = 0;
  while (trainer.iteration < iterations && found.some(({ iteration }) => Number.isNaN(iteration))) {
    const before = process.cpuUsage();
    await trainer.iterate(workContext());
    const { user, system } = process.cpuUsage(before);
    seconds += (user + system) / 1e6;
    const [state] = await trainer.state();
    const loss = await relativeLoss(state, config);
    for (const own of found)
      if (Number.isNaN(own.iteration) && loss < own.level)
        Object.assign(own, { iteration: trainer.iteration, seconds });
  }
  trainer.dispose();
  return found.map(({ level, iteration, seconds: own }) =>
    Number.isNaN(iteration) ? { level, iteration: null, seconds: null } : { level, iteration, seconds: own },
  );
}

/** The untrained policy stops with a probability of about one half everywhere. */
async function relativeLoss(state: MemberState, config: StopAgentConfig): Promise<number> {
  const logits = await logitsOf(state);
  const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
  const { alpha, beta, gamma } = config.imitation;
  const { table, environment } = problem;
  let loss = 0;
  const mdps = Array.from(environment, (thread) => ({ steps: table.lengths[thread], goesOn: true }));
  const occupancy = occupancyOf(
    mdps,
    new Float64Array(mdps.reduce((sum, mdp) => sum + threadStates(mdp), 0)).fill(0.5),
  );
  let place = 0;
  for (const [index, thread] of environment.entries())
    for (let own = 0; own < threadStates(mdps[index]); own++, place++) {
      const row = table.firstRows[thread] + own;
      loss += occupancy.continuing[place] * softplus(logits[2 * row]);
      loss += occupancy.stopping[place] * softplus(logits[2 * row + 1]);
    }
  const experts = [
    ['conservative', alpha, -1],
    ['earlyAction', beta, -1],
    ['misleading', gamma, 1],
  ] as const;
  for (const [expert, weight, sign] of experts) {
    const pairs = pairsOf({ seed: 0, config, problem }, expert);
    for (const [pair, row] of pairs.rows.entries())
      loss +=
        ((weight / (alpha + beta - gamma)) * softplus(sign * logits[2 * row + pairs.actions[pair]])) /
        pairs.rows.length;
  }
  return loss / (Math.LN2 * (1 + (alpha + beta + gamma) / (alpha + beta - gamma)));
}

/** Of both actions in every state of the table. */
async function logitsOf({ arrays }: MemberState): Promise<Float32Array> {
  const logits = tf.tidy(() => {
    const tensor = (name: string) => {
      const { shape, data } = arrays[`discriminator/parameters/${name}`];
      return tf.tensor3d(Float32Array.from(data), [shape[0], shape[1], shape[2]]);
    };
    const parameters = {
      w1: tensor('w1'),
      wAction: tensor('wAction'),
      b1: tensor('b1'),
      w2: tensor('w2'),
      b2: tensor('b2'),
      w3: tensor('w3'),
      b3: tensor('b3'),
    };
    const { data, columns } = states;
    return logitsOfBothActions({ parameters, states: tf.tensor3d(data, [1, data.length / columns, columns]) });
  });
  const values = await logits.data<'float32'>();
  logits.dispose();
  return values;
}
