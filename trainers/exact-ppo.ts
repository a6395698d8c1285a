import * as tf from '@tensorflow/tfjs-core';
import { columnOf, type MlpName, type Tensors } from '../src/tensor/batched-ops.ts';
import type { ExactAdvantages, Occupancy, SeenThreads } from './exact-gail.ts';
import { type PolicyValue, policyForward, readStops, scoredStops } from './policy-value.ts';
import {
  clippedSurrogate,
  entropyOf,
  type PpoCoefficients,
  type PpoConfig,
  type PpoOptions,
  policyDescent,
  updatePolicies,
} from './ppo.ts';

/*
 * PPO-clip (ppo.ts) with its expectation over steps taken exactly: a row a state, both actions of it weighed by how often
 * the old policy takes them (exact-gail.ts). There is no critic to fit. An epoch is one update over all states: `minibatches`, `valueCoefficient` and `gaeLambda` are not read.
 */

/** What one member's policy is improved on. */
export interface ExactPpoMember {
  readonly config: PpoConfig;
  readonly seen: SeenThreads;
  readonly occupancy: Occupancy;
  /** log π(STOP) and log π(CONTINUE) before the update, [states]. */
  readonly stopLogProbabilities: Float32Array;
  readonly continueLogProbabilities: Float32Array;
  /** Standardised. */
  readonly advantages: ExactAdvantages;
}

/** All states of an iteration. The first three are [members, states, 2], CONTINUE then STOP. */
export interface ExactPpoBatch {
  readonly oldLogProbabilities: tf.Tensor3D;
  readonly advantages: tf.Tensor3D;
  /** ρ(s, a). */
  readonly weights: tf.Tensor3D;
  /** ρ(s), [members, states, 1]. */
  readonly visits: tf.Tensor3D;
  /** [members, states, inputs]. */
  readonly observations: tf.Tensor3D;
}

/** Advantages divided by their standard deviation under ρ, where their mean is 0. */
export function standardizedAdvantages(
  { ofStopping, ofContinuing }: ExactAdvantages,
  { stopping, continuing }: Occupancy,
): ExactAdvantages {
  let variance = 0;
  for (let state = 0; state < ofStopping.length; state++)
    variance += stopping[state] * ofStopping[state] ** 2 + continuing[state] * ofContinuing[state] ** 2;
  const scale = 1 / (Math.sqrt(variance) + 1e-8);
  return {
    ofStopping: ofStopping.map((advantage) => advantage * scale),
    ofContinuing: ofContinuing.map((advantage) => advantage * scale),
  };
}

/**
 * Epochs of one update each. Options and result are those of `ppoUpdate`, but that the scores are log π(STOP) alone.
 * @param options.observations the states that each member sees, padded: [members, states, inputs]
 */
export async function exactPpoUpdate(
  agent: PolicyValue,
  members: readonly ExactPpoMember[],
  { observations, ...options }: Omit<PpoOptions, 'states'> & { observations: tf.Tensor3D },
): Promise<{ returns: Float32Array | null; after: Float32Array[] }> {
  const configs = members.map(({ config }) => config);
  const batch = batchOf(members, observations.shape[1]);
  const common = { ...batch, observations };
  const batches = Array.from({ length: configs[0].epochs }, () => () => ({}));
  const { returns, after } = await updatePolicies(descendExactPpo, { agent, batches, common, configs, ...options });
  tf.dispose(Object.values(batch));
  return {
    returns,
    after: await readStops(
      after.stops,
      members.map(({ seen: { rows } }) => rows.length),
    ),
  };
}

/** The loss of each member, [members, 1, 1]: −Σ ρ(s, a) min(x A, clip(x) A) − c_e Σ ρ(s) H(s). */
export function exactPpoLoss(
  parameters: Tensors<MlpName>,
  { observations, oldLogProbabilities, advantages, weights, visits }: ExactPpoBatch,
  { clip, entropy: c_e }: Pick<PpoCoefficients, 'clip' | 'entropy'>,
): tf.Tensor3D {
  const logProbabilities = policyForward(parameters, observations, { actions: 2 });
  const surrogate = clippedSurrogate(tf.sub(logProbabilities, oldLogProbabilities), advantages, clip);
  const objective = tf.sum<tf.Tensor3D>(tf.mul(surrogate, weights), 2, true);
  const entropy = tf.mul(tf.mul(entropyOf(logProbabilities), visits), c_e);
  return tf.neg(tf.sum<tf.Tensor3D>(tf.add(objective, entropy), 1, true));
}

const descendExactPpo = policyDescent<object, ExactPpoBatch, { stops: tf.Tensor3D }>(
  exactPpoLoss,
  (parameters, { observations }) => ({ stops: scoredStops({ parameters, observations }) }),
);

function batchOf(members: readonly ExactPpoMember[], most: number): Omit<ExactPpoBatch, 'observations'> {
  // Padding weighs nothing, whatever its ratio.
  const pairs = (of: (member: ExactPpoMember) => { continuing: Float32Array; stopping: Float32Array }) => {
    const all = new Float32Array(members.length * most * 2);
    for (const [index, member] of members.entries()) {
      const { continuing, stopping } = of(member);
      for (let state = 0; state < stopping.length; state++) {
        all[2 * (index * most + state)] = continuing[state];
        all[2 * (index * most + state) + 1] = stopping[state];
      }
    }
    return tf.tensor3d(all, [members.length, most, 2]);
  };
  return {
    oldLogProbabilities: pairs(({ stopLogProbabilities, continueLogProbabilities }) => ({
      continuing: continueLogProbabilities,
      stopping: stopLogProbabilities,
    })),
    advantages: pairs(({ advantages }) => ({
      continuing: advantages.ofContinuing,
      stopping: advantages.ofStopping,
    })),
    weights: pairs(({ occupancy }) => occupancy),
    visits: columnOf(
      members.map(({ occupancy }) => {
        const all = new Float32Array(most);
        all.set(occupancy.visits);
        return all;
      }),
    ),
  };
}
