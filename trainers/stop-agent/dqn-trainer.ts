import { z } from 'zod';
import { CONTINUE, STOP, stateRow } from '../../envs/state-table.ts';
import { initialState, lookAhead, rollOut, type StopEnvOptions } from '../../envs/stop-env.ts';
import { Random } from '../../src/tensor/random.ts';
import { actionValues, emptyMemory, remember, stopReward, updateQ } from '../dqn.ts';
import { arrayOf, type Metrics, type Trainer, valuesOf } from '../trainer.ts';
import { labelledRows } from './labelled-threads.ts';
import { learnerArrays, learnerPolicy, restoreNetwork } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';
import { createLearner, disposeLearner } from './setup.ts';

const valuesSchema = z.strictObject({
  iteration: z.int(),
  updates: z.int(),
  random: z.array(z.int()),
  rightStops: z.int(),
  memoryPosition: z.int(),
  environment: z.strictObject({ position: z.int(), step: z.int() }),
});

/**
 * Deep Q-learning on the labelled threads (trainers/dqn.ts) as a trainer. The network's outputs are Q of both actions, so the policy of
 * the same network stops where Q(stop) exceeds Q(continue).
 * @throws InputError when there is no labelled thread
 */
export async function createDqn(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  // Before there is a network to dispose.
  const { rows } = labelledRows(settings);
  const learner = await createLearner(settings, { hasCritic: false });
  const { agent, states } = learner;
  const config = settings.config.dqn;
  const { table, labelled } = settings.problem;
  const environment: StopEnvOptions = {
    table,
    threads: Int32Array.from(labelled.keys()),
    episodeEnd: 'stop',
    afterStop: 'stop',
  };
  const environmentState = initialState();
  const memory = emptyMemory(config.memory);
  let random = Random.seeded({ seed: settings.seed, purpose: 'stop-agent training' });
  /** Stops at which the detector was right, so far. */
  let rightStops = 0;
  let iteration = 0;

  /** Q(stop) − Q(continue), and V, in every state of the labelled threads, by row of the table. */
  async function scored(): Promise<{ gains: Float32Array; values: Float32Array }> {
    const observations = states.takePadded(rows);
    const { values: all } = await actionValues({ moving: agent.moving, observations }, agent.shapes);
    const tableRows = table.firstRows[table.lengths.length];
    const [gains, values] = [new Float32Array(tableRows), new Float32Array(tableRows)];
    for (const [place, row] of rows.entries()) {
      const [waiting, stopping] = all.subarray(2 * place);
      gains[row] = stopping - waiting;
      values[row] = Math.max(waiting, stopping);
    }
    // At the last post only a stop is left.
    let end = 0;
    for (const { right } of labelled.values()) {
      end += right.length;
      values[rows[end - 1]] = all[2 * (end - 1) + 1];
    }
    return { gains, values };
  }

  /** Takes an iteration's steps, ε-greedily, and remembers them. */
  function collect(gains: Float32Array): Metrics {
    const { stepsPerIteration: steps, exploration, waitCost } = config;
    lookAhead(environment, environmentState, { steps, shuffle: (length) => random.permutation(length) });
    const rollout = rollOut(environment, environmentState, {
      steps,
      stopProbability: (row) => (1 - exploration) * Number(gains[row] > 0) + exploration / 2,
      uniform: () => random.uniform(),
    });
    let [earned, episodes, posts] = [0, 0, 0];
    for (let i = 0; i < steps; i++) {
      const [thread, step] = [rollout.threads[i], rollout.steps[i]];
      const isStop = rollout.actions[i] === STOP || rollout.ends[i] === 1;
      const isRight = isStop && labelled.get(thread)?.right[step] === 1;
      rightStops += Number(isRight);
      const reward = isStop ? stopReward(config, { isRight, rightStops }) : -waitCost;
      const nextRow = isStop ? -1 : stateRow(table, { thread, step: step + 1, previous: CONTINUE });
      remember(memory, { row: rollout.rows[i], action: isStop ? STOP : CONTINUE, reward, nextRow });
      earned += reward;
      episodes += Number(isStop);
      posts += isStop ? table.postsSeen[thread][step] : 0;
    }
    return {
      'dqn/mean_reward': earned / steps,
      ...(episodes > 0 && { 'rollout/mean_stop_post': posts / episodes }),
    };
  }

  return {
    algorithm: 'dqn',
    iterations: settings.config.iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const { gains, values } = await scored();
      const collected = collect(gains);
      const loss = await updateQ(agent, memory, { states, values, config, random });
      iteration++;
      return { ...collected, 'dqn/loss': loss };
    },
    policy: () => learnerPolicy(learner),
    async state() {
      const { order, position, step } = environmentState;
      const { size } = memory;
      const filled = { shape: [size] };
      return {
        arrays: {
          ...(await learnerArrays(learner)),
          environment: { shape: [order.length], data: order.slice() },
          'memory/rows': { ...filled, data: memory.rows.slice(0, size) },
          'memory/actions': { ...filled, data: memory.actions.slice(0, size) },
          'memory/rewards': { ...filled, data: memory.rewards.slice(0, size) },
          'memory/nextRows': { ...filled, data: memory.nextRows.slice(0, size) },
        },
        values: {
          iteration,
          updates: agent.updates,
          random: random.state(),
          rightStops,
          memoryPosition: memory.position,
          environment: { position, step },
        },
      };
    },
    restore(saved) {
      const { arrays } = saved;
      const values = valuesOf(saved, valuesSchema);
      restoreNetwork(saved, { network: agent, updates: values.updates });
      const remembered = arrayOf(arrays, 'memory/rows', { kind: Int32Array });
      const shape = [remembered.length];
      memory.rows.set(remembered);
      memory.actions.set(arrayOf(arrays, 'memory/actions', { kind: Uint8Array }));
      memory.rewards.set(arrayOf(arrays, 'memory/rewards', { kind: Float32Array, shape }));
      memory.nextRows.set(arrayOf(arrays, 'memory/nextRows', { kind: Int32Array }));
      memory.size = remembered.length;
      memory.position = values.memoryPosition;
      Object.assign(environmentState, values.environment, {
        order: arrayOf(arrays, 'environment', { kind: Int32Array }).slice(),
      });
      random = Random.fromState(values.random);
      rightStops = values.rightStops;
      iteration = values.iteration;
    },
    dispose: () => disposeLearner(learner),
  };
}
