import { setImmediate as nextTurn } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { compiled } from '../../../src/tensor/onnx/compiled.ts';

/** One of the fits made side by side, with its own rows (weight 0 leaves a row out) and its own penalty. */
export interface LinearProblem {
  /** A weight for each row; only their ratios matter. */
  readonly rowWeights: Float32Array;
  readonly l2: number;
}

export interface LinearFit {
  /** `[problems, classes − 1, features]`: class 0 is the reference, its weights are zero. */
  readonly weights: Float32Array;
  /** `[rows, problems, classes − 1]`, for every row, left out or not. */
  readonly logits: Float32Array;
}

const STEPS_A_TURN = 10;

/**
 * Multinomial logistic regressions on the same rows, all fitted in lockstep: one product scores the rows under every
 * fold and every penalty at once, so that cross-validation costs little more than one fit. The loss of one problem is
 * the weighted mean of −Σ target · log p(class) plus l2 / 2 · Σ (w_c − mean w)², the penalty of the symmetric model, whatever the
 * reference class.
 *
 * Nesterov's method from zero weights, with the step and momentum that the loss's curvature allows; nothing is drawn
 * and nothing is tuned. Not Adam: where features outnumber rows, scaling each weight by its own gradient changes which
 * of many separating solutions is reached, so that the result is no longer that of the penalty asked for.
 */
export async function fitLinearClassifiers(options: {
  /** Row-major `[rows, features]`; a constant feature stands for the intercept. */
  features: Float32Array;
  /** Row-major `[rows, classes]`: the probability of each class, 1 for a class that is certain; a row adds up to 1. */
  targets: Float32Array;
  classCount: number;
  problems: readonly LinearProblem[];
  steps: number;
  onStep?: ((done: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}): Promise<LinearFit> {
  const { classCount, problems, steps } = options;
  const rows = options.targets.length / classCount;
  const featureCount = options.features.length / rows;
  const columns = problems.length * (classCount - 1);
  const { targets, shares } = targetsAndShares({ targets: options.targets, classCount, problems });

  const features = tf.tensor2d(options.features, [rows, featureCount]);
  const target = tf.tensor3d(targets, [rows, problems.length, classCount - 1]);
  const share = tf.tensor2d(shares, [rows, columns]);
  const penalty = tf.tensor2d(penaltyMatrix({ classCount, problems }), [columns, columns]);
  // Weights are kept as [columns, features], so that the gradient is (small residual)ᵀ · features: no second copy of the
  // features, and no product with a transposed operand, which the wasm backend is slow at.
  let state = [0, 1].map(() => tf.zeros<tf.Rank.R2>([columns, featureCount]));
  const { rates, momenta } = stepsOf({ features: options.features, classCount, problems });
  const rate = tf.tensor2d(rates, [columns, 1]);
  const constants: tf.Tensor[] = [features, target, share, penalty, rate];

  try {
    for (let done = 0; done < steps; done++) {
      const momentum = tf.tensor2d(
        momenta.map((limit) => Math.min(limit, done / (done + 3))),
        [columns, 1],
      );
      const [weights, previous] = state;
      const next = nesterovStep({ weights, previous, momentum, features, target, share, penalty, rate });
      tf.dispose([previous, momentum]);
      state = [next, weights];
      options.onStep?.(done + 1);
      if ((done + 1) % STEPS_A_TURN === 0) {
        await nextTurn();
        options.signal?.throwIfAborted();
      }
    }
    const logits = scores({ features, weights: state[0] });
    constants.push(logits);
    return { weights: await readFloats(state[0]), logits: await readFloats(logits) };
  } finally {
    tf.dispose([...constants, ...state]);
  }
}

/** [rows, columns]. */
const scores = compiled(({ features, weights }: { features: tf.Tensor2D; weights: tf.Tensor2D }) =>
  tf.matMul(features, tf.transpose(weights)),
);

/** The weights after a step; see `fitLinearClassifiers` for what it takes, [rows, columns] each but the columns' own numbers. */
const nesterovStep = compiled(
  (inputs: {
    weights: tf.Tensor2D;
    previous: tf.Tensor2D;
    momentum: tf.Tensor2D;
    features: tf.Tensor2D;
    target: tf.Tensor3D;
    share: tf.Tensor2D;
    penalty: tf.Tensor2D;
    rate: tf.Tensor2D;
  }): tf.Tensor2D => {
    const { weights, previous, momentum, features, target, share, penalty, rate } = inputs;
    const [rows, problems, classes] = target.shape;
    const ahead = tf.add<tf.Tensor2D>(weights, tf.mul(tf.sub(weights, previous), momentum));
    const logits = tf.reshape(scores({ features, weights: ahead }), [rows * problems, classes]);
    const all = tf.softmax(tf.concat([tf.zeros([rows * problems, 1]), logits], 1));
    const predicted = tf.reshape(tf.slice(all, [0, 1], [-1, classes]), share.shape);
    const residual = tf.mul<tf.Tensor2D>(tf.sub(predicted, tf.reshape(target, share.shape)), share);
    const gradient = tf.add(tf.matMul(tf.transpose(residual), features), tf.matMul(penalty, ahead));
    return tf.sub(ahead, tf.mul(gradient, rate));
  },
);

async function readFloats(tensor: tf.Tensor): Promise<Float32Array> {
  return Float32Array.from(await tensor.data());
}

/** Per row and column: how far is the row of the column's class, and what share of its problem's loss does it carry. */
function targetsAndShares(options: { targets: Float32Array; classCount: number; problems: readonly LinearProblem[] }): {
  targets: Float32Array;
  shares: Float32Array;
} {
  const { classCount, problems } = options;
  const rows = options.targets.length / classCount;
  const columns = problems.length * (classCount - 1);
  const targets = new Float32Array(rows * columns);
  const shares = new Float32Array(rows * columns);
  for (const [index, { rowWeights }] of problems.entries()) {
    const total = rowWeights.reduce((sum, weight) => sum + weight, 0);
    for (let row = 0; row < rows; row++) {
      const first = row * columns + index * (classCount - 1);
      shares.fill(rowWeights[row] / total, first, first + classCount - 1);
      targets.set(options.targets.subarray(row * classCount + 1, (row + 1) * classCount), first);
    }
  }
  return { targets, shares };
}

/** Block diagonal: times the weights it is the gradient of every problem's penalty. */
function penaltyMatrix(options: { classCount: number; problems: readonly LinearProblem[] }): Float32Array {
  const { classCount, problems } = options;
  const width = classCount - 1;
  const columns = problems.length * width;
  const matrix = new Float32Array(columns * columns);
  for (const [index, { l2 }] of problems.entries())
    for (let row = 0; row < width; row++)
      for (let column = 0; column < width; column++)
        matrix[(index * width + row) * columns + index * width + column] =
          l2 * ((row === column ? 1 : 0) - 1 / classCount);
  return matrix;
}

/**
 * Of each column, 1 / L and the momentum (1 − √q) / (1 + √q) with q = curvature at least / L. L is bounded by the mean
 * squared length of the rows times the largest curvature of a softmax (1/4 with two classes, 1/2 with more), plus l2.
 */
function stepsOf(options: { features: Float32Array; classCount: number; problems: readonly LinearProblem[] }): {
  rates: Float32Array;
  momenta: Float32Array;
} {
  const { features, classCount, problems } = options;
  const rows = problems[0].rowWeights.length;
  const width = features.length / rows;
  const squares = Float64Array.from({ length: rows }, (_, row) =>
    features.subarray(row * width, (row + 1) * width).reduce((sum, value) => sum + value * value, 0),
  );
  const rates = new Float32Array(problems.length * (classCount - 1));
  const momenta = new Float32Array(rates.length);
  for (const [index, { rowWeights, l2 }] of problems.entries()) {
    const total = rowWeights.reduce((sum, weight) => sum + weight, 0);
    const meanSquare = rowWeights.reduce((sum, weight, row) => sum + weight * squares[row], 0) / total;
    const largest = (classCount === 2 ? 1 / 4 : 1 / 2) * meanSquare + l2;
    // In the coding by a reference class the penalty's smallest curvature is that of all classes moving together.
    const root = Math.sqrt(l2 / classCount / largest);
    const columns = [index * (classCount - 1), (index + 1) * (classCount - 1)] as const;
    rates.fill(1 / largest, ...columns);
    momenta.fill((1 - root) / (1 + root), ...columns);
  }
  return { rates, momenta };
}
