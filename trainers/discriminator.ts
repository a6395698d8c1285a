import * as tf from '@tensorflow/tfjs-core';
import { type Optimized, optimized, type Tensors } from '../src/tensor/adam.ts';
import { stackMembers, uniformFanIn } from '../src/tensor/initializers.ts';
import { type UpperName, upperBackward, upperForward } from '../src/tensor/mlp.ts';
import { matMul, sliceRows, sumRows, tanhDerivative, transpose } from '../src/tensor/population-ops.ts';
import type { Random } from '../src/tensor/random.ts';

/*
 * GAIL's discriminator, [state; action] → logit that is high for experts, with the gradient of its loss (`gailLoss` in
 * gail.ts) written out. Two identities keep the gradient penalty cheap. Mixed inputs have mixed first pre-activations, so
 * no further large product is needed; and with v = ∂logit/∂z₁, ‖∂logit/∂x‖² = vᵀ(W₁ᵀW₁)v, so the gradient of the penalty
 * needs no second-order differentiation. The tests hold all of it to automatic differentiation and finite differences.
 */

export type DiscriminatorName = 'w1' | 'wAction' | 'b1' | UpperName;
export type Discriminator = Optimized<DiscriminatorName>;

/** A minibatch: the agent's rows first, then as many of each expert. */
export interface GailMinibatch {
  /** [members, (1 + experts)·batch, inputs] and [members, (1 + experts)·batch, 1]. */
  readonly states: tf.Tensor3D;
  readonly actions: tf.Tensor3D;
  /** Share of the expert in each mixture, uniform in [0, 1): [members, experts·batch, 1]. */
  readonly mixture: tf.Tensor3D;
}

/** What each row of a minibatch counts for; [members, rows, 1], constant through a run. */
export interface GailRowWeights {
  /** Label of each row: 1 expert, 0 agent. */
  readonly labelsExpertIsOne: tf.Tensor3D;
  /** Weight of each row in the cross-entropy, divided by the batch size; negative to subtract. */
  readonly weights: tf.Tensor3D;
  /** Weight of each mixture in the penalty, likewise; null for no penalty. */
  readonly penalties: tf.Tensor3D | null;
  /** Gradient norm that the penalty pulls to, [members, 1, 1]. */
  readonly penaltyTarget: tf.Tensor3D;
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

/** `states` [members, rows, inputs] and `actions` [members, rows, 1] → logits, [members, rows, 1]. */
export function logitsExpertIsHigh(
  parameters: Tensors<DiscriminatorName>,
  states: tf.Tensor3D,
  actions: tf.Tensor3D,
): tf.Tensor3D {
  return tf.tidy(() => upperForward(parameters, firstPreActivation(parameters, states, actions)).output);
}

/** z₁, [members, rows, hidden]. */
export function firstPreActivation(
  { w1, wAction, b1 }: Tensors<DiscriminatorName>,
  states: tf.Tensor3D,
  actions: tf.Tensor3D,
): tf.Tensor3D {
  return tf.add(matMul(states, w1), tf.add(tf.mul(actions, wAction), b1));
}

/** z₁ of mixed inputs is the mixture of their z₁: expert share ε of each expert row with the agent row beside it. */
export function mixPreActivations(preActivation1: tf.Tensor3D, mixture: tf.Tensor3D): tf.Tensor3D {
  const expertRows = mixture.shape[1];
  const batch = preActivation1.shape[1] - expertRows;
  const agent = sliceRows(preActivation1, 0, batch);
  const agentBesideEach = tf.concat(Array<tf.Tensor3D>(expertRows / batch).fill(agent), 1);
  const expert = sliceRows(preActivation1, batch, expertRows);
  return tf.add(agentBesideEach, tf.mul(mixture, tf.sub(expert, agentBesideEach)));
}

/** v = ∂logit/∂z₁ at each mixture, G = W₁ᵀW₁ over [state; action], and ‖∂logit/∂x‖ = √(vᵀGv). */
export function mixtureGradient(parameters: Tensors<DiscriminatorName>, preActivation1: tf.Tensor3D) {
  const { w1, wAction, w2, w3 } = parameters;
  const { hidden1, hidden2 } = upperForward(parameters, preActivation1);
  const slope1 = tanhDerivative(hidden1);
  const slope2 = tanhDerivative(hidden2);
  const v2 = tf.mul(slope2, transpose(w3)) as tf.Tensor3D;
  const q = matMul(v2, w2, { transposeRight: true });
  const v = tf.mul(q, slope1) as tf.Tensor3D;
  const gram = tf.add(
    matMul(w1, w1, { transposeLeft: true }),
    matMul(wAction, wAction, { transposeLeft: true }),
  ) as tf.Tensor3D;
  const gramV = matMul(v, gram);
  const norm = tf.sqrt(tf.add(tf.sum(tf.mul(v, gramV), 2, true), 1e-12)) as tf.Tensor3D;
  return { hidden1, hidden2, slope1, slope2, v2, q, v, gramV, norm };
}

/** Σ weight·(‖∂logit/∂x‖ − target)² of each member, [members, 1, 1], from the norms at the mixtures, [members, mixtures, 1]. */
export function gradientPenalty(
  norms: tf.Tensor3D,
  weights: tf.Tensor3D,
  { penaltyTarget }: Pick<GailRowWeights, 'penaltyTarget'>,
): tf.Tensor3D {
  return tf.tidy(() => sumRows(tf.mul<tf.Tensor3D>(tf.squaredDifference(norms, penaltyTarget), weights)));
}

/** A gradient of the loss, and what the discriminator said before the update: it comes along for the log. */
type DiscriminatorGradients = {
  readonly gradients: Tensors<DiscriminatorName>;
  readonly logits: tf.Tensor3D;
  /** ‖∂logit/∂x‖ at each mixture, [members, mixtures, 1]; undefined without a penalty. */
  readonly mixtureNorms: tf.Tensor3D | undefined;
};

/** The gradient of `gailLoss`. */
export function gailGradients(
  parameters: Tensors<DiscriminatorName>,
  batch: GailMinibatch,
  rowWeights: GailRowWeights,
): DiscriminatorGradients {
  return tf.tidy((): DiscriminatorGradients => {
    const preActivation1 = firstPreActivation(parameters, batch.states, batch.actions);
    const activations = upperForward(parameters, preActivation1);
    const logits = activations.output;
    const logitGradient = tf.mul(
      tf.sub(tf.sigmoid(logits), rowWeights.labelsExpertIsOne),
      rowWeights.weights,
    ) as tf.Tensor3D;
    const imitation = upperBackward(parameters, activations, logitGradient);

    const penalty =
      rowWeights.penalties === null
        ? null
        : penaltyGradients(parameters, {
            mixedPreActivation1: mixPreActivations(preActivation1, batch.mixture),
            weights: rowWeights.penalties,
            target: rowWeights.penaltyTarget,
          });
    const z1Gradient =
      penalty === null
        ? imitation.preActivation1Gradient
        : (tf.add(
            imitation.preActivation1Gradient,
            unmixGradient(penalty.mixedPreActivation1Gradient, batch.mixture, preActivation1.shape[1]),
          ) as tf.Tensor3D);
    const gradients: Tensors<DiscriminatorName> = {
      w1: matMul(batch.states, z1Gradient, { transposeLeft: true }),
      wAction: matMul(batch.actions, z1Gradient, { transposeLeft: true }),
      b1: sumRows(z1Gradient),
      ...imitation.gradients,
    };
    if (penalty === null) return { gradients, logits, mixtureNorms: undefined };
    return { gradients: withPenalty(gradients, penalty.gradients), logits, mixtureNorms: penalty.norm };
  });
}

/** A minibatch with both actions of every state of the agent's: their pairs have weights, and are not drawn. */
export interface OccupancyMinibatch {
  /** The agent's states, then the experts': [members, agent states + expert rows, inputs]. */
  readonly states: tf.Tensor3D;
  /** Actions of the experts' rows, [members, expert rows, 1]. */
  readonly expertActions: tf.Tensor3D;
  /**
   * Each mixture of an expert's pair with one of the agent's, as shares of the pairs: [members, expert rows, pairs], the
   * pairs being the agent's states with CONTINUE, the same with STOP, and the experts' rows.
   */
  readonly mixtures: tf.Tensor3D;
}

/**
 * The gradient of the loss of `gailGradients` over all pairs, with weights and labels in the order of
 * `OccupancyMinibatch.mixtures`. Both actions share the product of their state.
 */
export function occupancyGradients(
  parameters: Tensors<DiscriminatorName>,
  { states, expertActions, mixtures }: OccupancyMinibatch,
  rowWeights: GailRowWeights,
): DiscriminatorGradients {
  return tf.tidy((): DiscriminatorGradients => {
    const { w1, wAction, b1 } = parameters;
    const expertRows = expertActions.shape[1];
    const agentStates = states.shape[1] - expertRows;
    const perState = tf.add<tf.Tensor3D>(matMul(states, w1), b1);
    const continuing = sliceRows(perState, 0, agentStates);
    const ofExperts = sliceRows(perState, agentStates, expertRows);
    const stopping = tf.add<tf.Tensor3D>(continuing, wAction);
    const preActivation1 = tf.concat(
      [continuing, stopping, tf.add<tf.Tensor3D>(ofExperts, tf.mul(expertActions, wAction))],
      1,
    );
    const activations = upperForward(parameters, preActivation1);
    const logits = activations.output;
    const logitGradient = tf.mul<tf.Tensor3D>(
      tf.sub(tf.sigmoid(logits), rowWeights.labelsExpertIsOne),
      rowWeights.weights,
    );
    const imitation = upperBackward(parameters, activations, logitGradient);
    const penalty =
      rowWeights.penalties === null
        ? null
        : penaltyGradients(parameters, {
            mixedPreActivation1: matMul(mixtures, preActivation1),
            weights: rowWeights.penalties,
            target: rowWeights.penaltyTarget,
          });
    const z1Gradient =
      penalty === null
        ? imitation.preActivation1Gradient
        : tf.add<tf.Tensor3D>(
            imitation.preActivation1Gradient,
            matMul(mixtures, penalty.mixedPreActivation1Gradient, { transposeLeft: true }),
          );
    const ofStopping = sliceRows(z1Gradient, agentStates, agentStates);
    const ofExpertRows = sliceRows(z1Gradient, 2 * agentStates, expertRows);
    const ofBoth = tf.add<tf.Tensor3D>(sliceRows(z1Gradient, 0, agentStates), ofStopping);
    const perStateGradient = tf.concat([ofBoth, ofExpertRows], 1);
    const gradients: Tensors<DiscriminatorName> = {
      w1: matMul(states, perStateGradient, { transposeLeft: true }),
      wAction: tf.add(sumRows(ofStopping), sumRows(tf.mul<tf.Tensor3D>(ofExpertRows, expertActions))),
      b1: sumRows(perStateGradient),
      ...imitation.gradients,
    };
    if (penalty === null) return { gradients, logits, mixtureNorms: undefined };
    return { gradients: withPenalty(gradients, penalty.gradients), logits, mixtureNorms: penalty.norm };
  });
}

/** Logits of both actions of each state, CONTINUE then STOP: [members, states, 2]. */
export function logitsOfBothActions(parameters: Tensors<DiscriminatorName>, states: tf.Tensor3D): tf.Tensor3D {
  return tf.tidy(() => {
    const continuing = tf.add<tf.Tensor3D>(matMul(states, parameters.w1), parameters.b1);
    const stopping = tf.add<tf.Tensor3D>(continuing, parameters.wAction);
    return tf.concat(
      [continuing, stopping].map((preActivation1) => upperForward(parameters, preActivation1).output),
      2,
    );
  });
}

/** Gradients of Σ weight·(‖∂logit/∂x‖ − target)²: backwards through `mixtureGradient`, line by line. */
function penaltyGradients(
  parameters: Tensors<DiscriminatorName>,
  input: { mixedPreActivation1: tf.Tensor3D; weights: tf.Tensor3D; target: tf.Tensor3D },
) {
  const { w1, wAction, w2, w3 } = parameters;
  const mixed = mixtureGradient(parameters, input.mixedPreActivation1);
  const { hidden1, hidden2, slope1, slope2, v2, q, v, gramV, norm } = mixed;

  // L = weight·(n − target)², n = √(vᵀGv): ∂L/∂v = c·Gv and ∂L/∂G = ½ c·vvᵀ with c = 2·weight·(n − target)/n.
  const c = tf.div(tf.mul(tf.mul(tf.sub(norm, input.target), input.weights), 2), norm);
  const vGradient = tf.mul(gramV, c);
  // G = W₁ᵀW₁, so ∂L/∂W₁ = W₁·(2·∂L/∂G).
  const twiceGramGradient = matMul(v, tf.mul(v, c), { transposeLeft: true });

  // v = q ⊙ slope₁, q = v₂W₂ᵀ, v₂ = slope₂ ⊙ w₃.
  const qGradient = tf.mul(vGradient, slope1) as tf.Tensor3D;
  const v2Gradient = matMul(qGradient, w2);
  // slope = 1 − hidden², so ∂L/∂hidden = −2·hidden ⊙ ∂L/∂slope.
  const hidden2Gradient = tf.mul(tf.mul(hidden2, tf.mul(v2Gradient, transpose(w3))), -2);
  const z2Gradient = tf.mul(hidden2Gradient, slope2) as tf.Tensor3D;
  const hidden1Gradient = tf.add(
    matMul(z2Gradient, w2, { transposeRight: true }),
    tf.mul(tf.mul(hidden1, tf.mul(vGradient, q)), -2),
  );
  return {
    norm,
    mixedPreActivation1Gradient: tf.mul(hidden1Gradient, slope1) as tf.Tensor3D,
    gradients: {
      w1: matMul(w1, twiceGramGradient),
      wAction: matMul(wAction, twiceGramGradient),
      w2: tf.add(
        matMul(qGradient, v2, { transposeLeft: true }),
        matMul(hidden1, z2Gradient, { transposeLeft: true }),
      ) as tf.Tensor3D,
      b2: sumRows(z2Gradient),
      w3: transpose(sumRows(tf.mul(v2Gradient, slope2))),
    },
  };
}

/** A mixture passes its gradient on to the expert row with share ε and to the agent row with 1 − ε. */
function unmixGradient(mixedGradient: tf.Tensor3D, mixture: tf.Tensor3D, rows: number): tf.Tensor3D {
  const toExpert = tf.mul(mixedGradient, mixture) as tf.Tensor3D;
  const toAgentEach = tf.sub(mixedGradient, toExpert) as tf.Tensor3D;
  const batch = rows - mixture.shape[1];
  const sets = mixture.shape[1] / batch;
  const toAgent = tf.addN(Array.from({ length: sets }, (_, set) => sliceRows(toAgentEach, set * batch, batch)));
  return tf.concat([toAgent, toExpert], 1);
}

function withPenalty(
  gradients: Tensors<DiscriminatorName>,
  penalty: ReturnType<typeof penaltyGradients>['gradients'],
): Tensors<DiscriminatorName> {
  return {
    ...gradients,
    w1: tf.add(gradients.w1, penalty.w1),
    wAction: tf.add(gradients.wAction, penalty.wAction),
    w2: tf.add(gradients.w2, penalty.w2),
    b2: tf.add(gradients.b2, penalty.b2),
    w3: tf.add(gradients.w3, penalty.w3),
  };
}
