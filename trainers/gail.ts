import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import type { ExpertName } from '../experts/trajectories.ts';
import { adamUpdate, type Optimized, optimized, type Tensors } from '../src/tensor/adam.ts';
import { stackMembers, uniformFanIn } from '../src/tensor/initializers.ts';
import { type UpperName, upperBackward, upperForward } from '../src/tensor/mlp.ts';
import { matMul, perMember, sliceRows, sumRows, tanhDerivative, transpose } from '../src/tensor/population-ops.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';

/*
 * GAIL (Ho & Ermon 2016) with the three experts of EARD (Eq. 3, 4): α pulls towards the conservative expert (CE), β
 * towards the early-action expert (EAE), γ pushes away from the misleading one (ME).
 *
 *   symbol      paper                                here
 *   D           1 for the agent, 0 for experts       logits are high for experts (D̃ = 1 − D), as the authors' code
 *   r           −log D = softplus of our logit       logit(D̃): −log D is never negative, which rewards long episodes
 *   −γ E_ME     subtracted: unbounded below          `misleading: subtract` is that; `as-agent` gives ME pairs the
 *                                                    agent's label, the same direction with a bounded loss
 *   penalty     not in the paper; in the code        (‖∂logit/∂[s; a]‖ − 1)² at mixtures of expert and agent pairs
 *
 * Two identities keep the penalty cheap. Mixed inputs have mixed first pre-activations, so no further large product is
 * needed; and with v = ∂logit/∂z₁, ‖∂logit/∂x‖² = vᵀ(W₁ᵀW₁)v, so the gradient needs no second-order differentiation.
 */

export const gailSchema = z
  .strictObject({
    alpha: z.number().min(0).default(0.7).describe('weight of the conservative expert'),
    beta: z.number().min(0).default(0.15).describe('weight of the early-action expert'),
    gamma: z.number().min(0).default(0.15).describe('weight of the misleading expert'),
    misleading: z
      .enum(['as-agent', 'subtract'])
      .default('as-agent')
      .describe("how misleading pairs count: as further agent-labelled data, or the paper's literal, unbounded term"),
    hidden: z.int().min(1).default(100).describe("units in each of the discriminator's two hidden layers"),
    learningRate: z.number().positive().default(1e-4).describe('of Adam'),
    batchSize: z.int().min(1).default(64).describe('pairs of the agent, and of each expert, in a minibatch'),
    epochs: z.int().min(1).default(5).describe("passes over the agent's steps in each iteration"),
    warmupEpochs: z.int().min(1).default(10).describe('the same in the first warm-up iterations'),
    warmupIterations: z.int().min(0).default(10),
    penalty: z.number().min(0).default(10).describe('weight of the gradient penalty; 0 turns it off'),
    penaltyTarget: z.number().min(0).default(1).describe('gradient norm that the penalty pulls to'),
    misleadingPenalty: z
      .enum(['add', 'subtract'])
      .default('add')
      .describe("sign of the misleading set's penalty; subtract is what the published code does"),
  })
  // Not merely > 0: the losses are divided by α + β − γ, and 0.2 + 0.1 exceeds 0.3 by a rounding error.
  .refine(({ alpha, beta, gamma }) => alpha + beta - gamma > 1e-6, {
    error: (issue) => {
      const { alpha, beta, gamma } = issue.input as Record<'alpha' | 'beta' | 'gamma', number>;
      return `alpha + beta must exceed gamma, or nothing is left to imitate; got ${alpha} + ${beta} ≤ ${gamma}`;
    },
  });
export type GailConfig = z.infer<typeof gailSchema>;

export type DiscriminatorName = 'w1' | 'wAction' | 'b1' | UpperName;
export type Discriminator = Optimized<DiscriminatorName>;

/** State-action pairs: a row of the state table and the action taken there, both [pairs]. */
export interface Pairs {
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
}

/** [state; action] → logit, high for experts. Weights and biases as PyTorch draws them. One generator a member. */
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

/** Logits, high for experts. `states` [members, rows, inputs], `actions` [members, rows, 1] → [members, rows, 1]. */
export function discriminatorForward(
  parameters: Tensors<DiscriminatorName>,
  states: tf.Tensor3D,
  actions: tf.Tensor3D,
): tf.Tensor3D {
  return tf.tidy(() => upperForward(parameters, firstPreActivation(parameters, states, actions)).output);
}

function firstPreActivation(
  { w1, wAction, b1 }: Tensors<DiscriminatorName>,
  states: tf.Tensor3D,
  actions: tf.Tensor3D,
): tf.Tensor3D {
  return tf.add(matMul(states, w1), tf.add(tf.mul(actions, wAction), b1));
}

/** A minibatch: the agent's rows first, then as many of each expert that has any. */
export type GailMinibatch = {
  /** [members, (1 + experts)·batch, inputs] and [members, (1 + experts)·batch, 1]. */
  readonly states: tf.Tensor3D;
  readonly actions: tf.Tensor3D;
  /** Share of the expert in each mixture, uniform in [0, 1): [members, experts·batch, 1]. */
  readonly mixture: tf.Tensor3D;
};

/** What each row counts for; [members, rows, 1], constant through a run. */
export type GailRowWeights = {
  /** Label of each row: 1 expert, 0 agent. */
  readonly labels: tf.Tensor3D;
  /** Weight of each row in the cross-entropy, divided by the batch size; negative to subtract. */
  readonly weights: tf.Tensor3D;
  /** Weight of each mixture in the penalty, likewise; null for no penalty. */
  readonly penalties: tf.Tensor3D | null;
};

/** Row weights of Eq. 3, divided by α + β − γ so that the agent's weigh 1, for the experts that have pairs. */
export function gailRowWeights(configs: readonly GailConfig[], present: readonly ExpertName[]): GailRowWeights {
  const batch = configs[0].batchSize;
  const perRow = (values: (config: GailConfig) => number[]) => {
    const rows = configs.flatMap((config) => values(config).flatMap((value) => Array<number>(batch).fill(value)));
    return tf.tensor3d(rows, [configs.length, rows.length / configs.length, 1]);
  };
  const shareOf = (config: GailConfig, expert: ExpertName) => {
    const { alpha, beta, gamma } = config;
    return { conservative: alpha, earlyAction: beta, misleading: gamma }[expert] / (alpha + beta - gamma);
  };
  const asAgent = (config: GailConfig, expert: ExpertName) =>
    expert === 'misleading' && config.misleading === 'as-agent';
  const signed = (negative: boolean, value: number) => (negative ? -value : value) / batch;
  return {
    labels: perRow((config) => [0, ...present.map((expert) => (asAgent(config, expert) ? 0 : 1))]),
    weights: perRow((config) => [
      1 / batch,
      ...present.map((expert) =>
        signed(expert === 'misleading' && config.misleading === 'subtract', shareOf(config, expert)),
      ),
    ]),
    penalties: configs.every((config) => config.penalty === 0)
      ? null
      : perRow((config) =>
          present.map((expert) =>
            signed(
              expert === 'misleading' && config.misleadingPenalty === 'subtract',
              config.penalty * shareOf(config, expert),
            ),
          ),
        ),
  };
}

/** The loss of each member, [members, 1, 1]: weighted cross-entropy plus penalty. The tests differentiate it. */
export function gailLoss(
  parameters: Tensors<DiscriminatorName>,
  batch: GailMinibatch,
  rowWeights: GailRowWeights,
  penaltyTarget: tf.Tensor3D,
): tf.Tensor3D {
  return tf.tidy(() => {
    const preActivation1 = firstPreActivation(parameters, batch.states, batch.actions);
    const logits = upperForward(parameters, preActivation1).output;
    // Cross-entropy with logits: softplus(l) − label·l.
    const crossEntropy = tf.sub(tf.softplus(logits), tf.mul(rowWeights.labels, logits));
    const imitation = sumRows(tf.mul(crossEntropy, rowWeights.weights));
    if (rowWeights.penalties === null) return imitation;
    const norm = mixtureGradient(parameters, mixPreActivations(preActivation1, batch.mixture)).norm;
    const excess = tf.squaredDifference(norm, penaltyTarget);
    return tf.add(imitation, sumRows(tf.mul(excess, rowWeights.penalties)));
  });
}

/** z₁ of mixed inputs is the mixture of their z₁: expert share ε of each expert row with the agent row beside it. */
function mixPreActivations(preActivation1: tf.Tensor3D, mixture: tf.Tensor3D): tf.Tensor3D {
  const expertRows = mixture.shape[1];
  const batch = preActivation1.shape[1] - expertRows;
  const agent = sliceRows(preActivation1, 0, batch);
  const agentBesideEach = tf.concat(Array<tf.Tensor3D>(expertRows / batch).fill(agent), 1);
  const expert = sliceRows(preActivation1, batch, expertRows);
  return tf.add(agentBesideEach, tf.mul(mixture, tf.sub(expert, agentBesideEach)));
}

/** v = ∂logit/∂z₁ at each mixture, G = W₁ᵀW₁ over [state; action], and ‖∂logit/∂x‖ = √(vᵀGv). */
function mixtureGradient(parameters: Tensors<DiscriminatorName>, preActivation1: tf.Tensor3D) {
  const { w1, wAction, w2, w3 } = parameters;
  const { hidden1, hidden2 } = upperForward(parameters, preActivation1);
  const slope1 = tanhDerivative(hidden1);
  const slope2 = tanhDerivative(hidden2);
  const v2 = tf.mul(slope2, transpose(w3)) as tf.Tensor3D;
  const q = matMul(v2, transpose(w2));
  const v = tf.mul(q, slope1) as tf.Tensor3D;
  const gram = tf.add(matMul(transpose(w1), w1), matMul(transpose(wAction), wAction)) as tf.Tensor3D;
  const gramV = matMul(v, gram);
  const norm = tf.sqrt(tf.add(tf.sum(tf.mul(v, gramV), 2, true), 1e-12)) as tf.Tensor3D;
  return { hidden1, hidden2, slope1, slope2, v2, q, v, gramV, norm };
}

/** The gradient of `gailLoss`, written out; the logits before the update come along for the accuracies. */
export function gailGradients(
  parameters: Tensors<DiscriminatorName>,
  batch: GailMinibatch,
  rowWeights: GailRowWeights,
  penaltyTarget: tf.Tensor3D,
): { gradients: Tensors<DiscriminatorName>; logits: tf.Tensor3D } {
  return tf.tidy(() => {
    const preActivation1 = firstPreActivation(parameters, batch.states, batch.actions);
    const activations = upperForward(parameters, preActivation1);
    const logits = activations.output;
    const logitGradient = tf.mul(tf.sub(tf.sigmoid(logits), rowWeights.labels), rowWeights.weights) as tf.Tensor3D;
    const imitation = upperBackward(parameters, activations, logitGradient);

    const penalty =
      rowWeights.penalties === null
        ? null
        : penaltyGradients(parameters, {
            preActivation1,
            mixture: batch.mixture,
            weights: rowWeights.penalties,
            target: penaltyTarget,
          });
    const z1Gradient =
      penalty === null
        ? imitation.preActivation1Gradient
        : (tf.add(imitation.preActivation1Gradient, penalty.preActivation1Gradient) as tf.Tensor3D);
    const gradients: Tensors<DiscriminatorName> = {
      w1: matMul(transpose(batch.states), z1Gradient),
      wAction: matMul(transpose(batch.actions), z1Gradient),
      b1: sumRows(z1Gradient),
      ...imitation.gradients,
    };
    if (penalty !== null)
      for (const [name, gradient] of Object.entries(penalty.gradients) as [
        keyof typeof penalty.gradients,
        tf.Tensor3D,
      ][])
        gradients[name] = tf.add(gradients[name], gradient);
    return { gradients, logits };
  });
}

/** Gradients of Σ weight·(‖∂logit/∂x‖ − target)²: backwards through `mixtureGradient`, line by line. */
function penaltyGradients(
  parameters: Tensors<DiscriminatorName>,
  input: { preActivation1: tf.Tensor3D; mixture: tf.Tensor3D; weights: tf.Tensor3D; target: tf.Tensor3D },
) {
  const { w1, wAction, w2, w3 } = parameters;
  const { mixture } = input;
  const mixed = mixtureGradient(parameters, mixPreActivations(input.preActivation1, mixture));
  const { hidden1, hidden2, slope1, slope2, v2, q, v, gramV, norm } = mixed;

  // L = weight·(n − target)², n = √(vᵀGv): ∂L/∂v = c·Gv and ∂L/∂G = ½ c·vvᵀ with c = 2·weight·(n − target)/n.
  const c = tf.div(tf.mul(tf.mul(tf.sub(norm, input.target), input.weights), 2), norm);
  const vGradient = tf.mul(gramV, c);
  // G = W₁ᵀW₁, so ∂L/∂W₁ = W₁·(2·∂L/∂G).
  const twiceGramGradient = matMul(transpose(v), tf.mul(v, c));

  // v = q ⊙ slope₁, q = v₂W₂ᵀ, v₂ = slope₂ ⊙ w₃.
  const qGradient = tf.mul(vGradient, slope1) as tf.Tensor3D;
  const v2Gradient = matMul(qGradient, w2);
  // slope = 1 − hidden², so ∂L/∂hidden = −2·hidden ⊙ ∂L/∂slope.
  const hidden2Gradient = tf.mul(tf.mul(hidden2, tf.mul(v2Gradient, transpose(w3))), -2);
  const z2Gradient = tf.mul(hidden2Gradient, slope2) as tf.Tensor3D;
  const hidden1Gradient = tf.add(matMul(z2Gradient, transpose(w2)), tf.mul(tf.mul(hidden1, tf.mul(vGradient, q)), -2));
  const mixedZ1Gradient = tf.mul(hidden1Gradient, slope1);

  // A mixture passes its gradient on to the expert row with share ε and to the agent row with 1 − ε.
  const toExpert = tf.mul(mixedZ1Gradient, mixture) as tf.Tensor3D;
  const toAgentEach = tf.sub(mixedZ1Gradient, toExpert) as tf.Tensor3D;
  const batch = input.preActivation1.shape[1] - mixture.shape[1];
  const sets = mixture.shape[1] / batch;
  const toAgent = tf.addN(Array.from({ length: sets }, (_, set) => sliceRows(toAgentEach, set * batch, batch)));
  return {
    preActivation1Gradient: tf.concat([toAgent, toExpert], 1),
    gradients: {
      w1: matMul(w1, twiceGramGradient),
      wAction: matMul(wAction, twiceGramGradient),
      w2: tf.add(matMul(transpose(qGradient), v2), matMul(transpose(hidden1), z2Gradient)) as tf.Tensor3D,
      b2: sumRows(z2Gradient),
      w3: transpose(sumRows(tf.mul(v2Gradient, slope2))),
    },
  };
}

/** Endless passes over one expert's pairs in a fresh random order each; one member's. */
export interface ExpertStream {
  readonly pairs: Pairs;
  order: Int32Array;
  position: number;
}

/**
 * One iteration's updates (EARD Algorithm 1, line 8): epochs of minibatches over the agent's new steps, each beside as
 * many pairs of every expert. Returns each member's accuracy on the agent and on each expert in the last epoch.
 */
export function updateDiscriminator(
  discriminator: Discriminator,
  agentSteps: Pairs,
  options: {
    states: RowTable;
    configs: readonly GailConfig[];
    /** [member][expert present]. */
    streams: readonly (readonly ExpertStream[])[];
    rowWeights: GailRowWeights;
    randoms: readonly Random[];
    epochs: number;
  },
): { agent: number; experts: number[] }[] {
  const { states, configs, streams, rowWeights, randoms, epochs } = options;
  const members = configs.length;
  const steps = agentSteps.rows.length / members;
  const batch = Math.min(configs[0].batchSize, steps);
  const penaltyTarget = perMember(configs.map((config) => config.penaltyTarget));
  const adam = { learningRates: configs.map((config) => config.learningRate), epsilon: 1e-8 };
  const sets = streams[0].length;
  const saysExpert = Array.from({ length: members }, () => new Float64Array(sets + 1));
  let counted = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const orders = randoms.map((random) => random.permutation(steps));
    for (let start = 0; start + batch <= steps; start += batch) {
      const chosen = orders.map((order) => order.subarray(start, start + batch));
      const minibatch = takeMinibatch(agentSteps, { chosen, steps, streams, randoms, states });
      const { gradients, logits } = gailGradients(discriminator.parameters, minibatch, rowWeights, penaltyTarget);
      adamUpdate(discriminator, gradients, adam);
      if (epoch === epochs - 1) {
        const values = logits.dataSync();
        for (let i = 0; i < values.length; i++) {
          const inMember = i % ((sets + 1) * batch);
          if (values[i] > 0) saysExpert[Math.floor(i / ((sets + 1) * batch))][Math.floor(inMember / batch)]++;
        }
        counted += batch;
      }
      tf.dispose([minibatch, logits]);
    }
  }
  penaltyTarget.dispose();
  return saysExpert.map(([agent, ...experts]) => ({
    agent: 1 - agent / counted,
    experts: experts.map((count) => count / counted),
  }));
}

function takeMinibatch(
  agentSteps: Pairs,
  options: {
    chosen: readonly Int32Array[];
    steps: number;
    streams: readonly (readonly ExpertStream[])[];
    randoms: readonly Random[];
    states: RowTable;
  },
): GailMinibatch {
  const { chosen, steps, streams, randoms, states } = options;
  const members = chosen.length;
  const batch = chosen[0].length;
  const sets = streams[0].length;
  const rowsPerMember = (sets + 1) * batch;
  const rows = new Int32Array(members * rowsPerMember);
  const actions = new Float32Array(members * rowsPerMember);
  const mixture = new Float32Array(members * sets * batch);
  for (let member = 0; member < members; member++) {
    const base = member * rowsPerMember;
    for (let i = 0; i < batch; i++) {
      const step = member * steps + chosen[member][i];
      rows[base + i] = agentSteps.rows[step];
      actions[base + i] = agentSteps.actions[step];
    }
    for (const [set, stream] of streams[member].entries())
      for (let i = 0; i < batch; i++) {
        const pair = nextPair(stream, randoms[member]);
        rows[base + (set + 1) * batch + i] = stream.pairs.rows[pair];
        actions[base + (set + 1) * batch + i] = stream.pairs.actions[pair];
      }
    for (let i = 0; i < sets * batch; i++) mixture[member * sets * batch + i] = randoms[member].uniform();
  }
  return {
    states: states.gather(rows, members),
    actions: tf.tensor3d(actions, [members, rowsPerMember, 1]),
    mixture: tf.tensor3d(mixture, [members, sets * batch, 1]),
  };
}

function nextPair(stream: ExpertStream, random: Random): number {
  if (stream.position === stream.order.length) {
    stream.order = random.permutation(stream.pairs.rows.length);
    stream.position = 0;
  }
  return stream.order[stream.position++];
}
