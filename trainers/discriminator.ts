import * as tf from '@tensorflow/tfjs-core';
import type { ExpertName } from '../experts/trajectories.ts';
import { disposeOptimized, type Optimized, optimized } from '../src/tensor/adam.ts';
import { descent } from '../src/tensor/descent.ts';
import { Given, type Read } from '../src/tensor/graph/compiled.ts';
import { uniformFanIn } from '../src/tensor/initializers.ts';
import {
  columnOf,
  layer,
  matMul,
  normsOfImages,
  sumRows,
  type Tensors,
  tanh,
  tanhDerivative,
  type UpperName,
  upperForward,
  weightedSum,
  withGradient,
} from '../src/tensor/operations.ts';
import type { Random } from '../src/tensor/random.ts';
import { gathered, type RowTable, type TakenRows } from '../src/tensor/row-table.ts';
import type { GailConfig } from './config.ts';

/*
 * GAIL's discriminator, [state; action] → logit that is high for experts, and its loss over pairs whose first layer's sums z₁ are
 * known. Two identities keep the gradient penalty cheap. Mixed inputs have mixed z₁, so no further large product is needed; and
 * with v = ∂logit/∂z₁, written out, ‖∂logit/∂x‖² = vᵀ(W₁ᵀW₁)v, so the gradient of the penalty needs no second-order
 * differentiation. The tests hold all of it to the definition and to finite differences.
 */

/** State-action pairs: a row of the state table and the action taken there, both [pairs]. */
export interface Pairs {
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
}

/** Pairs without end: passes in a fresh random order each. */
interface PairStream {
  readonly pairs: Pairs;
  order: Int32Array;
  position: number;
}

export interface Expert extends PairStream {
  readonly name: ExpertName;
  readonly labelExpertIsOne: number;
  /** In the cross-entropy, over the agent's; negative to subtract. */
  readonly weight: number;
}

/** Whose pairs a discriminator tells from the agent's, and what its reward counts. */
export interface DiscriminatorTask {
  readonly experts: readonly Expert[];
  readonly rewardWeight: number;
}

export type DiscriminatorName = 'w1' | 'wAction' | 'b1' | UpperName;
export interface Discriminator extends Optimized<DiscriminatorName>, DiscriminatorTask {
  readonly rowWeights: GailRowWeights;
}

/** Weights of the rows of a minibatch; [rows, 1], constant through a run. */
export interface GailRowWeights {
  /** Label of each row: 1 expert, 0 agent. */
  readonly labelsExpertIsOne: tf.Tensor2D;
  /** Weight of each row in the cross-entropy, divided by the batch size; negative to subtract. */
  readonly weights: tf.Tensor2D;
  /** Weight of each mixture in the penalty, likewise; null for no penalty. */
  readonly penalties: tf.Tensor2D | null;
}

/** Weights and biases as PyTorch draws them, uniform in ±1/√fan-in: each tensor of all discriminators before the next. */
export function createDiscriminators(
  tasks: readonly DiscriminatorTask[],
  options: { inputs: number; config: GailConfig['discriminator']; random: Random },
): Discriminator[] {
  const { inputs, config, random } = options;
  const { hidden } = config;
  const draw = (rows: number, columns: number, fanIn: number) =>
    tasks.map(() => tf.tensor2d(uniformFanIn({ rows, columns, fanIn, random }), [rows, columns]));
  const w1 = draw(inputs, hidden, inputs + 1);
  const wAction = draw(1, hidden, inputs + 1);
  const b1 = draw(1, hidden, inputs + 1);
  const w2 = draw(hidden, hidden, hidden);
  const b2 = draw(1, hidden, hidden);
  const w3 = draw(hidden, 1, hidden);
  const b3 = draw(1, 1, hidden);
  return tasks.map((task, i) => ({
    ...task,
    ...optimized({ w1: w1[i], wAction: wAction[i], b1: b1[i], w2: w2[i], b2: b2[i], w3: w3[i], b3: b3[i] }),
    rowWeights: gailRowWeights(task, config),
  }));
}

export function disposeDiscriminator(discriminator: Discriminator): void {
  const { labelsExpertIsOne, weights, penalties } = discriminator.rowWeights;
  disposeOptimized(discriminator);
  tf.dispose([labelsExpertIsOne, weights, penalties ?? []]);
}

/** Weights of the rows of a minibatch, from those of the experts over the agent's. */
export function gailRowWeights(
  { experts }: Pick<DiscriminatorTask, 'experts'>,
  { batchSize, penalty }: GailConfig['discriminator'],
): GailRowWeights {
  const perRow = (values: readonly number[]) =>
    columnOf(Float32Array.from(values.flatMap((value) => Array<number>(batchSize).fill(value))));
  return {
    labelsExpertIsOne: perRow([0, ...experts.map(({ labelExpertIsOne }) => labelExpertIsOne)]),
    weights: perRow([1 / batchSize, ...experts.map(({ weight }) => weight / batchSize)]),
    // A subtracted expert's is added.
    penalties:
      penalty === 0 || experts.length === 0
        ? null
        : perRow(experts.map(({ weight }) => (penalty * Math.abs(weight)) / batchSize)),
  };
}

/** States with actions. */
export type PairTensors = {
  /** [rows, inputs]. */
  readonly states: tf.Tensor2D;
  /** [rows, 1]. */
  readonly actions: tf.Tensor2D;
};

/** Logits, [rows, 1]. */
export function logitsExpertIsHigh(parameters: Tensors<DiscriminatorName>, pairs: PairTensors): tf.Tensor2D {
  return upperForward(parameters, tanh(firstPreActivation(parameters, pairs))).output;
}

/** z₁, [rows, hidden]. */
function firstPreActivation(
  { w1, wAction, b1 }: Tensors<DiscriminatorName>,
  { states, actions }: PairTensors,
): tf.Tensor2D {
  const ofStates = layer(states, { weights: w1, bias: b1 }, { inputIsData: true });
  return tf.add(ofStates, matMul(actions, wAction, { leftIsData: true }));
}

/** z₁ of mixed inputs is the mixture of their z₁: expert share ε of each expert row with the agent row beside it. */
function mixPreActivations(preActivation1: tf.Tensor2D, mixture: tf.Tensor2D): tf.Tensor2D {
  const [rows, hidden] = preActivation1.shape;
  const [expertRows] = mixture.shape;
  const batch = rows - expertRows;
  return withGradient([preActivation1], {
    saved: [mixture],
    value: () => {
      const [agent, expert] = tf.split<tf.Tensor2D>(preActivation1, [batch, expertRows], 0);
      const agentBesideEach = tf.concat(Array<tf.Tensor2D>(expertRows / batch).fill(agent), 0);
      return tf.add(agentBesideEach, tf.mul(mixture, tf.sub(expert, agentBesideEach)));
    },
    gradients: (dy, [mixture]) => {
      const ofExperts = tf.mul<tf.Tensor2D>(dy, mixture);
      const besideEach = tf.reshape<tf.Rank.R2>(tf.sub(dy, ofExperts), [expertRows / batch, batch * hidden]);
      const ofAgent = tf.reshape<tf.Rank.R2>(sumRows(besideEach), [batch, hidden]);
      return [tf.concat([ofAgent, ofExperts], 0)];
    },
  });
}

/** ‖∂logit/∂x‖ = √(vᵀGv) at each mixture, with v = ∂logit/∂z₁ and G = W₁ᵀW₁ over [state; action]: [mixtures, 1]. */
function inputGradientNorm(parameters: Tensors<DiscriminatorName>, preActivation1: tf.Tensor2D): tf.Tensor2D {
  const { w1, wAction, w2, w3 } = parameters;
  const hidden1 = tanh(preActivation1);
  const { hidden2 } = upperForward(parameters, hidden1);
  const v2 = tf.mul<tf.Tensor2D>(tanhDerivative(hidden2), tf.reshape(w3, [1, -1]));
  const v = tf.mul<tf.Tensor2D>(matMul(v2, w2, { transposeRight: true }), tanhDerivative(hidden1));
  return normsOfImages(v, [w1, wAction]);
}

/** Of a minibatch before its update: for the log. */
export type DiscriminatorOutputs = {
  /** [rows, 1]. */
  readonly logits: tf.Tensor2D;
  /** Σ weight·(‖∂logit/∂x‖ − 1)², [1, 1]; null without a penalty. */
  readonly penalty: tf.Tensor2D | null;
};

/** A minibatch: the agent's rows first, then as many of each expert, [(1 + experts)·batch, …]. */
export type GailMinibatch = PairTensors & {
  /** Share of the expert in each mixture, uniform in [0, 1): [experts·batch, 1]. */
  readonly mixture: tf.Tensor2D;
};

/** The loss, [1, 1]: weighted cross-entropy plus gradient penalty. */
export function gailLoss(
  parameters: Tensors<DiscriminatorName>,
  batch: GailMinibatch,
  { labelsExpertIsOne, weights, penalties }: GailRowWeights,
): { loss: tf.Tensor2D; outputs: DiscriminatorOutputs } {
  const preActivation1 = firstPreActivation(parameters, batch);
  const logits = upperForward(parameters, tanh(preActivation1)).output;
  // Cross-entropy with logits: softplus(l) − label·l.
  const crossEntropy = tf.sub<tf.Tensor2D>(tf.softplus(logits), tf.mul(labelsExpertIsOne, logits));
  const imitation = weightedSum(crossEntropy, weights);
  if (penalties === null) return { loss: imitation, outputs: { logits, penalty: null } };
  const norms = inputGradientNorm(parameters, mixPreActivations(preActivation1, batch.mixture));
  const penalty = weightedSum(tf.squaredDifference(norms, 1), penalties);
  return { loss: tf.add(imitation, penalty), outputs: { logits, penalty } };
}

/** Inputs that all updates of an iteration share. */
interface GailUpdates {
  readonly rowWeights: GailRowWeights;
  /** The agent's new steps, whose logits are wanted after the last update. */
  readonly agentSteps: { readonly states: TakenRows; readonly actions: tf.Tensor2D };
}

const descendGail = descent(
  (parameters: Tensors<DiscriminatorName>, batch: GailMinibatch, { rowWeights }: GailUpdates) =>
    gailLoss(parameters, batch, rowWeights),
  (parameters, { agentSteps: { states, actions } }) => ({
    logits: logitsExpertIsHigh(parameters, { states: gathered(states), actions }),
  }),
);

/** Adam's own; PPO's is larger. */
const ADAM_EPSILON = 1e-8;

/** A discriminator after the updates of an iteration. */
export interface DiscriminatorOutcome {
  readonly rewardWeight: number;
  /** Of the agent's new steps, [steps]. */
  readonly logits: Float32Array;
  readonly health: DiscriminatorHealth;
}

/**
 * One iteration's updates (EARD Algorithm 1, line 8): epochs of minibatches over the agent's new steps, each beside as many pairs of
 * every expert. A discriminator without an expert stays as it is.
 */
export async function updateDiscriminators(
  discriminators: readonly Discriminator[],
  agentSteps: Pairs,
  options: { states: RowTable; config: GailConfig['discriminator']; epochs: number; random: Random },
): Promise<DiscriminatorOutcome[]> {
  const { states, config, epochs, random } = options;
  const { batchSize, learningRate } = config;
  const steps = agentSteps.rows.length;
  const updates = Math.floor(steps / batchSize);
  const drawn = discriminators.map((discriminator) => minibatchArrays(discriminator, epochs * updates * batchSize));
  for (let epoch = 0; epoch < epochs; epoch++) {
    const streams = discriminators.map(({ experts, scratch }): PairStream[] => {
      const order = random.permutation(steps, scratch.array('order', 'int32', steps));
      return [{ pairs: agentSteps, order, position: 0 }, ...experts];
    });
    for (let update = 0; update < updates; update++)
      for (const [place, { experts }] of discriminators.entries()) {
        for (const stream of streams[place]) drawPairs(drawn[place], stream, { count: batchSize, random });
        const mixtures = experts.length * batchSize;
        const start = (epoch * updates + update) * mixtures;
        random.fill(drawn[place].mixture, { start, end: start + mixtures });
      }
  }
  const actions = new Given(new Float32Array(agentSteps.actions), [steps, 1]);
  const all = { states: states.take(agentSteps.rows), actions };
  const outcomes: DiscriminatorOutcome[] = [];
  for (const [place, discriminator] of discriminators.entries()) {
    const { experts, rewardWeight, rowWeights } = discriminator;
    if (experts.length === 0) continue;
    const { rows, actions, mixture } = drawn[place];
    const { outputs, after } = await descendGail(discriminator, {
      count: epochs * updates,
      batches: {
        states: { states, rows },
        actions: { numbers: actions, width: 1 },
        mixture: { numbers: mixture, width: 1 },
      },
      shared: { rowWeights, agentSteps: all },
      adam: { learningRate, epsilon: ADAM_EPSILON },
    });
    outcomes.push({ rewardWeight, logits: after.logits, health: healthOf(outputs, { experts, batchSize, updates }) });
  }
  return outcomes;
}

/** The minibatches of an iteration, one behind the other: a row for each pair, and for each mixture the share of the expert. */
interface DrawnMinibatches {
  readonly rows: Int32Array;
  readonly actions: Float32Array;
  readonly mixture: Float32Array;
  /** Pairs so far. */
  pairs: number;
}

function minibatchArrays({ experts, scratch }: Discriminator, pairs: number): DrawnMinibatches {
  const all = (1 + experts.length) * pairs;
  return {
    rows: scratch.array('rows', 'int32', all),
    actions: scratch.array('actions', 'float32', all),
    mixture: scratch.array('mixture', 'float32', experts.length * pairs),
    pairs: 0,
  };
}

/** Appends the next pairs. */
export function drawPairs(
  drawn: Omit<DrawnMinibatches, 'mixture'>,
  stream: PairStream,
  { count, random }: { count: number; random: Random },
): void {
  const { rows, actions } = drawn;
  const { pairs } = stream;
  for (let left = count; left > 0; ) {
    if (stream.position === stream.order.length) {
      stream.order = random.permutation(pairs.rows.length);
      stream.position = 0;
    }
    // Thousands in an iteration, so the loop reads nothing but arrays.
    const { order, position } = stream;
    const start = drawn.pairs;
    const some = Math.min(left, order.length - position);
    for (let index = 0; index < some; index++) {
      const pair = order[position + index];
      rows[start + index] = pairs.rows[pair];
      actions[start + index] = pairs.actions[pair];
    }
    stream.position += some;
    drawn.pairs += some;
    left -= some;
  }
}

/** How well a discriminator tells pairs apart, before its updates of the last epoch. */
export interface DiscriminatorHealth {
  /** Share of the agent's steps that it took for the agent's. */
  readonly agent: number;
  /** Share of each expert's pairs that it took for an expert's. */
  readonly saysExpert: readonly { readonly name: ExpertName; readonly share: number }[];
  /** The gradient penalty as it stands in the loss, its weight included; null without one. */
  readonly penalty: number | null;
}

/** @param outputs at all updates */
function healthOf(
  { logits, penalty }: Read<DiscriminatorOutputs>,
  { experts, batchSize, updates }: { experts: readonly Expert[]; batchSize: number; updates: number },
): DiscriminatorHealth {
  const sets = 1 + experts.length;
  const saysExpert = new Float64Array(sets);
  const ofEpoch = logits.subarray(logits.length - updates * sets * batchSize);
  for (let row = 0; row < ofEpoch.length; row++) if (ofEpoch[row] > 0) saysExpert[Math.floor(row / batchSize) % sets]++;
  const pairs = updates * batchSize;
  const penalties = penalty?.slice(penalty.length - updates).reduce((sum, value) => sum + value, 0);
  return {
    agent: 1 - saysExpert[0] / pairs,
    saysExpert: experts.map(({ name }, set) => ({ name, share: saysExpert[set + 1] / pairs })),
    penalty: penalties === undefined ? null : penalties / updates,
  };
}
