import * as tf from '@tensorflow/tfjs-core';
import { namesOf, type Tensors } from './operations.ts';

/*
 * Automatic gradients, so that a loss is all that an algorithm states. tfjs keeps the tape; what each operation passes back is
 * here for the operations that our losses are made of, because its core package comes without. Products, tanh and what else is
 * worth a gradient of its own have it in operations.ts.
 */

/** The gradient of the sum of a loss, and what the loss saw on its way; the caller owns both. */
export function gradientsOf<Name extends string, Outputs extends object>(
  parameters: Tensors<Name>,
  lossOf: (parameters: Tensors<Name>) => { loss: tf.Tensor; outputs: Outputs },
): { gradients: Tensors<Name>; outputs: Outputs } {
  const names = namesOf(parameters);
  const seen: Outputs[] = [];
  const gradients = tf.grads((...tensors: tf.Tensor[]) => {
    const result = lossOf(Object.fromEntries(names.map((name, index) => [name, tensors[index]])) as Tensors<Name>);
    for (const tensor of Object.values(result.outputs)) if (tensor instanceof tf.Tensor) tf.keep(tensor);
    seen.push(result.outputs);
    return result.loss;
  })(names.map((name) => parameters[name]));
  return {
    gradients: Object.fromEntries(names.map((name, index) => [name, gradients[index]])) as Tensors<Name>,
    outputs: seen[0],
  };
}

/** The gradient of an operation's inputs, from the gradient of its output, the inputs and the output. */
type Passed = (dy: tf.Tensor, x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
type PassedToBoth = (dy: tf.Tensor, a: tf.Tensor, b: tf.Tensor) => tf.Tensor;

const ofOne: Readonly<Record<string, Passed>> = {
  Identity: (dy) => tf.clone(dy),
  Neg: (dy) => tf.neg(dy),
  Exp: (dy, _, y) => tf.mul(dy, y),
  Softplus: (dy, x) => tf.mul(dy, tf.sigmoid(x)),
  Reshape: (dy, x) => tf.reshape(dy, x.shape),
};

/** For each of the two inputs, before the sum over what was broadcast. */
const ofTwo: Readonly<Record<string, readonly [PassedToBoth, PassedToBoth]>> = {
  Add: [(dy) => dy, (dy) => dy],
  Sub: [(dy) => dy, (dy) => tf.neg(dy)],
  Multiply: [(dy, _, b) => tf.mul(dy, b), (dy, a) => tf.mul(dy, a)],
  SquaredDifference: [
    (dy, a, b) => tf.mul(tf.mul(dy, 2), tf.sub(a, b)),
    (dy, a, b) => tf.mul(tf.mul(dy, 2), tf.sub(b, a)),
  ],
};

/** Registers a gradient: of the output's to the inputs', by their names. */
function register(
  kernelName: string,
  saves: Omit<tf.GradConfig, 'kernelName' | 'gradFunc'>,
  passed: (dy: tf.Tensor, saved: tf.Tensor[], attributes: tf.NamedAttrMap) => Record<string, () => tf.Tensor>,
): void {
  tf.registerGradient({
    kernelName,
    ...saves,
    gradFunc: (dy, saved, attributes) => passed(dy as tf.Tensor, saved, attributes),
  });
}

for (const [kernelName, passed] of Object.entries(ofOne))
  register(kernelName, { inputsToSave: ['x'], outputsToSave: [true] }, (dy, [x, y]) => ({ x: () => passed(dy, x, y) }));

for (const [kernelName, [toA, toB]] of Object.entries(ofTwo))
  register(kernelName, { inputsToSave: ['a', 'b'] }, (dy, [a, b]) => ({
    a: () => summedTo(a.shape, toA(dy, a, b)),
    b: () => summedTo(b.shape, toB(dy, a, b)),
  }));

register('Sum', { inputsToSave: ['x'] }, (dy, [x], { axis }) => {
  const axes = tf.util.parseAxisParam((axis ?? x.shape.map((_, index) => index)) as number | number[], x.shape);
  const reducedShape = x.shape.map((length, index) => (axes.includes(index) ? 1 : length));
  return { x: () => tf.mul(tf.reshape(dy, reducedShape), tf.onesLike(x)) };
});

register('Slice', { inputsToSave: ['x'] }, (dy, [x], { begin }) => {
  const from = [begin].flat().map(Number);
  const around = x.shape.map((length, index): [number, number] => {
    const before = from[index] ?? 0;
    return [before, length - before - dy.shape[index]];
  });
  return { x: () => tf.pad(dy, around) };
});

// The one kernel with several outputs.
tf.registerGradient({
  kernelName: 'SplitV',
  gradFunc: (dys, _, { axis }) => ({ x: () => tf.concat(dys as tf.Tensor[], Number(axis)) }),
});

register('Cumsum', {}, (dy, _, { axis, exclusive, reverse }) => ({
  x: () => tf.cumsum(dy, Number(axis), exclusive === true, reverse !== true),
}));

/** The sum over the axes along which something of that shape was broadcast. */
function summedTo(shape: number[], gradient: tf.Tensor): tf.Tensor {
  const axes = tf.broadcast_util.getReductionAxes(shape, gradient.shape);
  if (axes.length === 0) return gradient;
  const summed = tf.sum(gradient, axes, true);
  return summed.rank === shape.length ? summed : tf.reshape(summed, shape);
}
