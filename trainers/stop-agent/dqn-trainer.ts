import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { CONTINUE, STOP, stateRow } from '../../envs/state-table.ts';
import { initialState, lookAhead, rollOut, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import { Random } from '../../src/tensor/random.ts';
import { actionValues, emptyMemory, type QMember, remember, stopReward, updateQ } from '../dqn.ts';
import { type Metrics, type Trainer, valuesOf } from '../trainer.ts';
import { labelledRows } from './labelled-threads.ts';
import {
  checkMembers,
  floats32,
  integers,
  learnerPolicies,
  momentsArrays,
  networkArrays,
  restoreNetwork,
  sameForAll,
  smallIntegers,
} from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopMember } from './problem.ts';
import { createLearner, disposeLearner, type StopLearner } from './setup.ts';

const valuesSchema = z.strictObject({
  iteration: z.int(),
  updates: z.int(),
  random: z.array(z.int()),
  rightStops: z.int(),
  memoryPosition: z.int(),
  environment: z.strictObject({ position: z.int(), step: z.int() }),
});

/** One member while it learns. */
interface DqnMember extends QMember {
  random: Random;
  readonly problem: StopMember['problem'];
  readonly environment: StopEnvOptions;
  readonly environmentState: StopEnvState;
  /** Rows of every step of its labelled threads. */
  readonly rows: Int32Array;
  /** Stops at which the detector was right, so far. */
  rightStops: number;
}

/**
 * Deep Q-learning on the labelled threads (trainers/dqn.ts) as a trainer. The network's outputs are Q of both actions, so the policy of
 * the same network stops where Q(stop) exceeds Q(continue).
 * @throws InputError when a member has no labelled thread, or the members do not fit together
 */
export async function createDqn(members: readonly StopMember[]): Promise<Trainer<StopPolicy>> {
  // Before there is a network to dispose.
  const rows = members.map((member) => labelledRows(member).rows);
  const learner = await createLearner(members, { hasCritic: false });
  const { agent, states } = learner;
  const learning = learner.members.map((member, index) => dqnMember(member, rows[index]));
  const { iterations } = members[0].config;
  let iteration = 0;

  return {
    algorithm: 'dqn',
    iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const scores = await scored(learner, learning);
      const seen = learning.map((member, index) => collect(member, scores[index]));
      const losses = await updateQ(agent, learning, { states });
      iteration++;
      return seen.map((own, index) => ({ ...own, 'dqn/loss': losses[index] }));
    },
    policies: () => learnerPolicies(learner),
    async state() {
      const arrays = await networkArrays(['agent'], agent);
      return learning.map(({ random, rightStops, memory, environmentState }, member) => {
        const { order, position, step } = environmentState;
        const filled = { shape: [memory.size] };
        return {
          arrays: {
            ...arrays[member],
            ...momentsArrays(learner.members[member].moments),
            environment: { shape: [order.length], data: order.slice() },
            'memory/rows': { ...filled, data: memory.rows.slice(0, memory.size) },
            'memory/actions': { ...filled, data: memory.actions.slice(0, memory.size) },
            'memory/rewards': { ...filled, data: memory.rewards.slice(0, memory.size) },
            'memory/nextRows': { ...filled, data: memory.nextRows.slice(0, memory.size) },
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
      });
    },
    restore(saved) {
      checkMembers(saved, members);
      const values = saved.map((state) => valuesOf(state, valuesSchema));
      restoreNetwork(saved, { names: ['agent'], network: agent, updates: values.map(({ updates }) => updates) });
      for (const [index, { arrays }] of saved.entries()) {
        const member = learning[index];
        const { random, rightStops, memoryPosition, environment } = values[index];
        const remembered = integers(arrays, 'memory/rows');
        const shape = [remembered.length];
        member.memory.rows.set(remembered);
        member.memory.actions.set(smallIntegers(arrays, 'memory/actions'));
        member.memory.rewards.set(floats32(arrays, { name: 'memory/rewards', shape }));
        member.memory.nextRows.set(integers(arrays, 'memory/nextRows'));
        member.memory.size = remembered.length;
        member.memory.position = memoryPosition;
        Object.assign(member.environmentState, environment, { order: integers(arrays, 'environment').slice() });
        member.random = Random.fromState(random);
        member.rightStops = rightStops;
      }
      iteration = sameForAll(
        values.map((own) => own.iteration),
        'iterations',
      );
    },
    dispose: () => disposeLearner(learner),
  };
}

function dqnMember({ seed, config, problem }: StopMember, rows: Int32Array): DqnMember {
  const { table, labelled } = problem;
  return {
    random: Random.seeded({ seed, purpose: 'stop-agent training' }),
    config: config.dqn,
    problem,
    environment: { table, threads: Int32Array.from(labelled.keys()), episodeEnd: 'stop', afterStop: 'stop' },
    environmentState: initialState(),
    rows,
    memory: emptyMemory(config.dqn.memory),
    values: new Float32Array(table.firstRows[table.lengths.length]),
    rightStops: 0,
  };
}

/** Q(stop) − Q(continue) in every state that a member can be in, by row of its table; its `values` are renewed. */
async function scored({ agent, states }: StopLearner, members: readonly DqnMember[]): Promise<Float32Array[]> {
  const observations = states.gatherPadded(members.map(({ rows }) => rows));
  const most = observations.shape[1];
  const scores = actionValues({ parameters: agent.parameters, observations });
  const all = await scores.data<'float32'>();
  tf.dispose([observations, scores]);
  return members.map(({ rows, values, problem }, member) => {
    const gains = new Float32Array(values.length);
    for (const [place, row] of rows.entries()) {
      const [waiting, stopping] = all.subarray(2 * (member * most + place));
      gains[row] = stopping - waiting;
      values[row] = Math.max(waiting, stopping);
    }
    // At the last post only a stop is left.
    let end = 0;
    for (const { right } of problem.labelled.values()) {
      end += right.length;
      values[rows[end - 1]] = all[2 * (member * most + end - 1) + 1];
    }
    return gains;
  });
}

/** Takes an iteration's steps, ε-greedily, and remembers them. */
function collect(member: DqnMember, gains: Float32Array): Metrics {
  const { environment, environmentState, random, memory, config, problem } = member;
  const { stepsPerIteration: steps, exploration, waitCost } = config;
  const { table, labelled } = problem;
  lookAhead(environment, environmentState, { steps, shuffle: (length) => random.permutation(length) });
  const { rows, actions, ends, ...taken } = rollOut(environment, environmentState, {
    steps,
    stopProbability: (row) => (1 - exploration) * Number(gains[row] > 0) + exploration / 2,
    uniform: () => random.uniform(),
  });
  let [earned, episodes, posts] = [0, 0, 0];
  for (let i = 0; i < steps; i++) {
    const [thread, step] = [taken.threads[i], taken.steps[i]];
    const isStop = actions[i] === STOP || ends[i] === 1;
    const isRight = isStop && labelled.get(thread)?.right[step] === 1;
    member.rightStops += Number(isRight);
    const reward = isStop ? stopReward(config, { isRight, rightStops: member.rightStops }) : -waitCost;
    const nextRow = isStop ? -1 : stateRow(table, { thread, step: step + 1, previous: CONTINUE });
    remember(memory, { row: rows[i], action: isStop ? STOP : CONTINUE, reward, nextRow });
    earned += reward;
    episodes += Number(isStop);
    posts += isStop ? table.postsSeen[thread][step] : 0;
  }
  return {
    'dqn/mean_reward': earned / steps,
    ...(episodes > 0 && { 'rollout/mean_stop_post': posts / episodes }),
  };
}
