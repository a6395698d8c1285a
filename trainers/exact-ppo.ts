import * as tf from '@tensorflow/tfjs-core';
import { adamUpdate, type Tensors } from '../src/tensor/adam.ts';
import type { MlpName } from '../src/tensor/mlp.ts';
import { columnOf, perMember } from '../src/tensor/population-ops.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import { type ExactAdvantages, type Occupancy, padded, type SeenThreads } from './exact-gail.ts';
import { type PolicyValue, policyValueBackward, policyValueForward } from './policy-value.ts';
import {
  ADAM_EPSILON,
  addedGradients,
  clampTo,
  decayedLearningRate,
  type PpoCoefficients,
  type PpoConfig,
} from './ppo.ts';

/*
 * PPO-clip (ppo.ts) with its expectation over steps taken exactly: a row a state, both actions of it weighed by how often
 * the old policy takes them (exact-gail.ts). There is no critic to fit, so the value half of the network gets no
 * gradient. An epoch is one update over all states: `minibatches`, `valueCoefficient` and `gaeLambda` are not read.
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

/** Epochs of one update each. The options are those of `ppoUpdate`. */
export async function exactPpoUpdate(
  agent: PolicyValue,
  members: readonly ExactPpoMember[],
  options: { states: RowTables; remaining: number; alsoDescend?: (() => Promise<Tensors<MlpName>>) | null },
): Promise<void> {
  const { states, remaining, alsoDescend = null } = options;
  const configs = members.map(({ config }) => config);
  const coefficients = {
    clip: perMember(configs.map(({ clip }) => clip)),
    entropy: perMember(configs.map(({ entropyCoefficient }) => entropyCoefficient)),
  };
  const adam = {
    learningRates: configs.map((config) => decayedLearningRate(config, remaining)),
    epsilon: ADAM_EPSILON,
    maxGradientNorm: configs.map(({ maxGradientNorm }) => maxGradientNorm),
  };
  const batch = batchOf(members, states);
  for (let epoch = 0; epoch < configs[0].epochs; epoch++) {
    const gradients = exactPpoGradients(agent, batch, coefficients);
    adamUpdate(agent, alsoDescend === null ? gradients : addedGradients(gradients, await alsoDescend()), adam);
  }
  tf.dispose([Object.values(batch), Object.values(coefficients)]);
}

type Coefficients = Pick<PpoCoefficients, 'clip' | 'entropy'>;

/** The loss of each member, [members, 1, 1]: −Σ ρ(s, a) min(x A, clip(x) A) − c_e Σ ρ(s) H(s). */
export function exactPpoLoss(
  parameters: Tensors<MlpName>,
  { observations, oldLogProbabilities, advantages, weights, visits }: ExactPpoBatch,
  { clip, entropy: c_e }: Coefficients,
): tf.Tensor3D {
  return tf.tidy(() => {
    const { logProbabilities } = policyValueForward(parameters, observations);
    const ratio = tf.exp(tf.sub(logProbabilities, oldLogProbabilities));
    const clippedRatio = clampTo(ratio, tf.sub(1, clip), tf.add(1, clip));
    const surrogate = tf.minimum(tf.mul(ratio, advantages), tf.mul(clippedRatio, advantages));
    const minusEntropy = tf.mul(tf.exp(logProbabilities), logProbabilities);
    const perPair = tf.sub(tf.mul(tf.mul(minusEntropy, visits), c_e), tf.mul(surrogate, weights));
    return tf.sum<tf.Tensor3D>(tf.sum(perPair, 2, true), 1, true);
  });
}

/** The gradient of `exactPpoLoss` with respect to the parameters. */
export function exactPpoGradients(
  agent: Pick<PolicyValue, 'parameters' | 'blockMasks'>,
  { observations, oldLogProbabilities, advantages, weights, visits }: ExactPpoBatch,
  { clip, entropy: c_e }: Coefficients,
): Tensors<MlpName> {
  return tf.tidy(() => {
    const { activations, logProbabilities, values } = policyValueForward(agent.parameters, observations);
    const probabilities = tf.exp(logProbabilities);

    const ratio = tf.exp(tf.sub(logProbabilities, oldLogProbabilities));
    const unclipped = tf.mul(ratio, advantages);
    const clipped = tf.mul(clampTo(ratio, tf.sub(1, clip), tf.add(1, clip)), advantages);
    const ratioActive = tf.cast(tf.lessEqual(unclipped, clipped), 'float32');
    const perLogProbability = tf.neg(tf.mul(tf.mul(unclipped, ratioActive), weights));
    const ofBoth = tf.sum(perLogProbability, 2, true);
    const surrogateGradient = tf.sub(perLogProbability, tf.mul(probabilities, ofBoth));

    const entropy = tf.neg(tf.sum(tf.mul(probabilities, logProbabilities), 2, true));
    const entropyGradient = tf.mul(tf.mul(tf.mul(probabilities, tf.add(logProbabilities, entropy)), visits), c_e);

    const outputGradient = tf.concat(
      [tf.add<tf.Tensor3D>(surrogateGradient, entropyGradient), tf.zerosLike(values)],
      2,
    );
    return policyValueBackward(agent, { observations, activations, outputGradient });
  });
}

function batchOf(members: readonly ExactPpoMember[], states: RowTables): ExactPpoBatch {
  const most = Math.max(...members.map(({ seen }) => seen.rows.length));
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
    observations: states.gather(members.map(({ seen }) => padded(seen.rows, most))),
  };
}
