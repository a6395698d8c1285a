import * as tf from '@tensorflow/tfjs-core';
import { type Optimized, optimized } from '../src/tensor/adam.ts';
import {
  layer,
  matMul,
  sliceRows,
  squaredNormsOfImages,
  sumRows,
  type Tensors,
  tanh,
  tanhDerivative,
  transpose,
  type UpperName,
  upperForward,
  withGradient,
} from '../src/tensor/batched-ops.ts';
import { stackMembers, uniformFanIn } from '../src/tensor/initializers.ts';
import type { Random } from '../src/tensor/random.ts';

/*
 * GAIL's discriminator, [state; action] → logit that is high for experts, and its loss over pairs whose first layer's sums z₁ are
 * known. Two identities keep the gradient penalty cheap. Mixed inputs have mixed z₁, so no further large product is needed; and
 * with v = ∂logit/∂z₁, written out, ‖∂logit/∂x‖² = vᵀ(W₁ᵀW₁)v, so the gradient of the penalty needs no second-order
 * differentiation. The tests hold all of it to the definition and to finite differences.
 */

export type DiscriminatorName = 'w1' | 'wAction' | 'b1' | UpperName;
export type Discriminator = Optimized<DiscriminatorName>;

/** What each row of a minibatch counts for; [members, rows, 1], constant through a run. */
export interface GailRowWeights {
  /** Label of each row: 1 expert, 0 agent. */
  readonly labelsExpertIsOne: tf.Tensor3D;
  /** Weight of each row in the cross-entropy, divided by the batch size; negative to subtract. */
  readonly weights: tf.Tensor3D;
  /** Weight of each mixture in the penalty, likewise; null for no penalty. */
  readonly penalties: tf.Tensor3D | null;
}

/** Weights and biases as PyTorch draws them, uniform in ±1/√fan-in. One member for each generator. */
export function createDiscriminator(options: {
  inputs: number;
  hidden: number;
  randoms: readonly Random[];
}): Discriminator {
  const { inputs, hidden, randoms } = options;
  const draw = (rows: number, columns: number, fanIn: number) =>
    stackMembers(
      randoms.map((random) => uniformFanIn({ rows, columns, fanIn, random })),
      { rows, columns },
    );
  return optimized({
    w1: draw(inputs, hidden, inputs + 1),
    wAction: draw(1, hidden, inputs + 1),
    b1: draw(1, hidden, inputs + 1),
    w2: draw(hidden, hidden, hidden),
    b2: draw(1, hidden, hidden),
    w3: draw(hidden, 1, hidden),
    b3: draw(1, 1, hidden),
  });
}

/** States with actions. */
export interface PairTensors {
  /** [members, rows, inputs]. */
  readonly states: tf.Tensor3D;
  /** [members, rows, 1]. */
  readonly actions: tf.Tensor3D;
}

/** Logits, [members, rows, 1]. */
export function logitsExpertIsHigh(parameters: Tensors<DiscriminatorName>, pairs: PairTensors): tf.Tensor3D {
  return upperForward(parameters, tanh(firstPreActivation(parameters, pairs))).output;
}

/** z₁, [members, rows, hidden]. */
function firstPreActivation(
  { w1, wAction, b1 }: Tensors<DiscriminatorName>,
  { states, actions }: PairTensors,
): tf.Tensor3D {
  return tf.add(layer(states, { weights: w1, bias: b1 }, { inputIsData: true }), tf.mul(actions, wAction));
}

/** z₁ of mixed inputs is the mixture of their z₁: expert share ε of each expert row with the agent row beside it. */
function mixPreActivations(preActivation1: tf.Tensor3D, mixture: tf.Tensor3D): tf.Tensor3D {
  const [members, rows, hidden] = preActivation1.shape;
  const expertRows = mixture.shape[1];
  const batch = rows - expertRows;
  return withGradient([preActivation1], {
    saved: [mixture],
    value: () => {
      const agent = sliceRows(preActivation1, 0, batch);
      const agentBesideEach = tf.concat(Array<tf.Tensor3D>(expertRows / batch).fill(agent), 1);
      const expert = sliceRows(preActivation1, batch, expertRows);
      return tf.add(agentBesideEach, tf.mul(mixture, tf.sub(expert, agentBesideEach)));
    },
    gradients: (dy, [mixture]) => {
      const ofExperts = tf.mul<tf.Tensor3D>(dy, mixture);
      const besideEach = tf.reshape<tf.Rank.R3>(tf.sub(dy, ofExperts), [members, expertRows / batch, batch * hidden]);
      const ofAgent = tf.reshape<tf.Rank.R3>(sumRows(besideEach), [members, batch, hidden]);
      return [tf.concat([ofAgent, ofExperts], 1)];
    },
  });
}

/** ‖∂logit/∂x‖ = √(vᵀGv) at each mixture, with v = ∂logit/∂z₁ and G = W₁ᵀW₁ over [state; action]: [members, mixtures, 1]. */
function inputGradientNorm(parameters: Tensors<DiscriminatorName>, preActivation1: tf.Tensor3D): tf.Tensor3D {
  const { w1, wAction, w2, w3 } = parameters;
  const hidden1 = tanh(preActivation1);
  const { hidden2 } = upperForward(parameters, hidden1);
  const v2 = tf.mul<tf.Tensor3D>(tanhDerivative(hidden2), transpose(w3));
  const v = tf.mul<tf.Tensor3D>(matMul(v2, w2, { transposeRight: true }), tanhDerivative(hidden1));
  return tf.sqrt(tf.add<tf.Tensor3D>(squaredNormsOfImages(v, [w1, wAction]), 1e-12));
}

/** What the discriminator said before an update: for the log. */
export interface DiscriminatorSeen {
  /** [members, rows, 1]. */
  readonly logits: tf.Tensor3D;
  /** Σ weight·(‖∂logit/∂x‖ − 1)², [members, 1, 1]; null without a penalty. */
  readonly penalty: tf.Tensor3D | null;
}

/** A minibatch: the agent's rows first, then as many of each expert, [members, (1 + experts)·batch, …]. */
export interface GailMinibatch extends PairTensors {
  /** Share of the expert in each mixture, uniform in [0, 1): [members, experts·batch, 1]. */
  readonly mixture: tf.Tensor3D;
}

/** The loss of each member, [members, 1, 1]: weighted cross-entropy plus gradient penalty. */
export function gailLoss(
  parameters: Tensors<DiscriminatorName>,
  batch: GailMinibatch,
  { labelsExpertIsOne, weights, penalties }: GailRowWeights,
): { loss: tf.Tensor3D; seen: DiscriminatorSeen } {
  const preActivation1 = firstPreActivation(parameters, batch);
  const logits = upperForward(parameters, tanh(preActivation1)).output;
  // Cross-entropy with logits: softplus(l) − label·l.
  const crossEntropy = tf.sub(tf.softplus(logits), tf.mul(labelsExpertIsOne, logits));
  const imitation = sumRows(tf.mul(crossEntropy, weights));
  if (penalties === null) return { loss: imitation, seen: { logits, penalty: null } };
  const norms = inputGradientNorm(parameters, mixPreActivations(preActivation1, batch.mixture));
  const penalty = sumRows(tf.mul(tf.squaredDifference(norms, 1), penalties));
  return { loss: tf.add(imitation, penalty), seen: { logits, penalty } };
}

/** How well the discriminator tells a member's pairs apart, before its updates of the last epoch. */
export interface DiscriminatorHealth {
  /** Share of the agent's steps that it took for the agent's. */
  readonly agent: number;
  /** Share of each expert's pairs that it took for an expert's; null where the member has none. */
  readonly saysExpert: readonly (number | null)[];
  /** The gradient penalty as it stands in the loss, its weight included; null where the member has none. */
  readonly penalty: number | null;
}

/** What is read of a member of GAIL. */
interface Member {
  readonly config: { readonly discriminator: { readonly batchSize: number; readonly penalty: number } };
  /** One for each expert; null where the member has none of it. */
  readonly streams: readonly (object | null)[];
}

/** @param seen at each update of an epoch */
export async function discriminatorHealth(
  members: readonly Member[],
  seen: readonly DiscriminatorSeen[],
): Promise<DiscriminatorHealth[]> {
  const accuracies = await accuraciesOf(members, seen);
  const penalties = await meanPenalties(members, seen);
  return members.map((_, member) => ({ ...accuracies[member], penalty: penalties[member] }));
}

/** Each member's mean over the updates; null for a member without a penalty. */
async function meanPenalties(
  members: readonly Member[],
  seen: readonly DiscriminatorSeen[],
): Promise<(number | null)[]> {
  const sums = members.map(() => 0);
  for (const { penalty } of seen) {
    const values = (await penalty?.data()) ?? [];
    for (const [member, value] of values.entries()) sums[member] += value;
  }
  // In a batch, the others' penalty is computed for a member that has none, with weight 0.
  return members.map(({ config }, member) => (config.discriminator.penalty === 0 ? null : sums[member] / seen.length));
}

/** Counts the positive logits of each set of rows. */
async function accuraciesOf(
  members: readonly Member[],
  seen: readonly DiscriminatorSeen[],
): Promise<Omit<DiscriminatorHealth, 'penalty'>[]> {
  const { batchSize } = members[0].config.discriminator;
  const sets = 1 + members[0].streams.length;
  const saysExpert = members.map(() => new Float64Array(sets));
  for (const { logits } of seen) {
    const values = await logits.data();
    for (const [row, value] of values.entries()) {
      const set = Math.floor(row / batchSize);
      if (value > 0) saysExpert[Math.floor(set / sets)][set % sets]++;
    }
  }
  const pairs = seen.length * batchSize;
  return members.map(({ streams }, member) => ({
    agent: 1 - saysExpert[member][0] / pairs,
    saysExpert: streams.map((stream, set) => (stream === null ? null : saysExpert[member][set + 1] / pairs)),
  }));
}
