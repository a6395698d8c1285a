import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../../src/tensor/backend.ts';
import { compiled } from '../../../../src/tensor/graph/compiled.ts';
import { type Engine, newTraffic } from '../../../../src/tensor/graph/engine.ts';
import { GraphBackend } from '../../../../src/tensor/graph/graph-backend.ts';

describe('a compiled function', () => {
  beforeEach(() => selectBackend('onnx'));

  it('computes from its inputs at every call, and runs no kernel from the third on', async () => {
    let traces = 0;
    const scaled = compiled(({ x, rate }: { x: tf.Tensor; rate: tf.Tensor }) => {
      traces++;
      return { both: [tf.mul(x, rate), tf.sum(x)], none: null };
    });
    const before = tf.memory().numTensors;
    for (let call = 1; call <= 4; call++) {
      const inputs = { x: tf.tensor1d([1, 2, 3]), rate: tf.scalar(1 / call) };
      const { both, none } = await scaled(inputs);
      for (const [index, value] of both[0].dataSync().entries()) expect(value).toBeCloseTo((index + 1) / call, 6);
      expect([...both[1].dataSync()]).toEqual([6]);
      expect(none).toBeNull();
      tf.dispose([both, inputs]);
      expect(tf.memory().numTensors).toBe(before);
    }
    expect(traces).toBe(2);
    // Other shapes are another graph.
    const inputs = { x: tf.tensor2d([[1], [2]]), rate: tf.scalar(2) };
    const { both } = await scaled(inputs);
    expect([...both[0].dataSync()]).toEqual([2, 4]);
    tf.dispose([both, inputs]);
  });

  it('leaves no copy of its results for the garbage collector', async () => {
    const moved = compiled(({ x }: { x: tf.Tensor }) => ({ x: tf.mul(x, 2) }), { spends: 'x' });
    const length = 1e5;
    let x: tf.Tensor = tf.zeros([length]);
    const move = async () => {
      x = (await moved({ x })).x;
    };
    for (let call = 0; call < 3; call++) await move();
    const before = process.memoryUsage().arrayBuffers;
    for (let call = 0; call < 8; call++) await move();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * length);
    x.dispose();
  });

  it('takes gradients, one tensor as two inputs, and results of kernels that have not run', async () => {
    const difference = ({ a, b }: { a: tf.Tensor; b: tf.Tensor }) => tf.sub(tf.mul(a, 3), b);
    const step = compiled(difference);
    const pending = tf.add(tf.tensor1d([1, 2]), 1);
    for (let call = 0; call < 3; call++) {
      const result = await step({ a: pending, b: pending });
      expect([...result.dataSync()]).toEqual([4, 6]);
      result.dispose();
    }
    const nested = compiled(({ a }: { a: tf.Tensor }) => tf.add(difference({ a, b: a }), 1));
    const result = await nested({ a: pending });
    expect([...result.dataSync()]).toEqual([5, 7]);
    tf.dispose([pending, result]);
  });

  it('is another program for another form, which may decide what is computed', async () => {
    let traces = 0;
    const powers = compiled(({ x }: { x: tf.Tensor }, { times }: { times: number }) => {
      traces++;
      return tf.mul(x, times);
    });
    const x = tf.tensor1d([1, 2]);
    for (const times of [2, 3, 2, 3, 2, 3]) {
      const result = await powers({ x }, { times });
      expect([...result.dataSync()]).toEqual([times, 2 * times]);
      result.dispose();
    }
    expect(traces).toBe(4);
    x.dispose();
  });

  it('is refused at its second call where a number was baked in', async () => {
    let calls = 0;
    const baked = compiled(({ x }: { x: tf.Tensor }) => tf.mul(x, 1 / ++calls));
    const x = tf.tensor1d([1, 2, 3]);
    (await baked({ x })).dispose();
    await expect(baked({ x })).rejects.toThrow(/computes something else at its second call.*pass it in as a tensor/);
    x.dispose();
  });

  it('is refused where it reads what is not among its inputs, reads a value, returns what it did not compute, or calls another', async () => {
    const before = tf.memory().numTensors;
    const [x, other] = [tf.tensor1d([1, 2]), tf.tensor2d([[1, 2]])];
    await expect(compiled((inputs: { x: tf.Tensor }) => tf.add(inputs.x, other))({ x })).rejects.toThrow(
      /reads a tensor of shape \[1,2\] that is not among its inputs/,
    );
    await expect(
      compiled((inputs: { x: tf.Tensor }) => tf.mul(inputs.x, tf.sum(inputs.x).dataSync()[0]))({ x }),
    ).rejects.toThrow(/cannot read a tensor/);
    await expect(compiled((inputs: { x: tf.Tensor }) => inputs)({ x })).rejects.toThrow(
      /returns a tensor that it did not compute/,
    );
    await expect(
      compiled((inputs: { x: tf.Tensor; rate: number }) => tf.mul(inputs.x, inputs.rate))({ x, rate: 2 }),
    ).rejects.toThrow(/was given \.rate = 2; make it a tensor/);
    const inner = compiled((inputs: { x: tf.Tensor }) => tf.neg(inputs.x));
    let called: Promise<tf.Tensor> | null = null;
    const outer = compiled((inputs: { x: tf.Tensor }) => {
      called = inner(inputs);
      called.catch(() => {});
      return tf.neg(inputs.x);
    });
    (await outer({ x })).dispose();
    await expect(called).rejects.toThrow('a compiled step cannot call another; call its function');
    tf.dispose([x, other]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('keeps a bounded number of programs, and traces again what it has forgotten', async () => {
    let traces = 0;
    const doubled = compiled(({ x }: { x: tf.Tensor }) => {
      traces++;
      return tf.mul(x, 2);
    });
    const call = async (length: number) => {
      const x = tf.ones([length]);
      const result = await doubled({ x });
      expect([...result.dataSync()]).toEqual(Array(length).fill(2));
      tf.dispose([x, result]);
    };
    for (let length = 1; length <= 60; length++) await call(length);
    expect(traces).toBe(60);
    await call(60);
    expect(traces).toBe(61);
    await call(1);
    expect(traces).toBe(62);
  });
});

function onnxBackend(): GraphBackend {
  const backend = tf.backend();
  if (!(backend instanceof GraphBackend)) throw new Error('the backend is another');
  return backend;
}

describe('an array for a tensor', () => {
  beforeEach(() => selectBackend('onnx'));
  const emptyNumbers = (length: number) => onnxBackend().emptyNumbers(length);
  const filled = (value: number) => {
    const numbers = emptyNumbers(777).fill(value);
    return { numbers, tensor: tf.tensor1d(numbers) };
  };

  it('is used again when its tensor and all clones of it are gone', () => {
    const { numbers, tensor } = filled(1);
    const clone = tensor.clone();
    tensor.dispose();
    expect(emptyNumbers(777)).not.toBe(numbers);
    clone.dispose();
    expect(emptyNumbers(778)).not.toBe(numbers);
    expect(emptyNumbers(777)).toBe(numbers);
  });

  it('is not used again where it was read, or where a graph that reads it has yet to run', () => {
    const { numbers: kept, tensor: read } = filled(2);
    read.dataSync();
    read.dispose();
    expect(emptyNumbers(777)).not.toBe(kept);
    const { numbers, tensor } = filled(3);
    const sum = tf.sum(tensor);
    tensor.dispose();
    expect(emptyNumbers(777).fill(0)).not.toBe(numbers);
    expect(sum.dataSync()[0]).toBe(3 * 777);
    sum.dispose();
  });

  it('is a result’s that nobody read, unless two tensors share it', async () => {
    const twice = compiled(({ x }: { x: tf.Tensor }) => {
      const doubled = tf.mul(x, 2);
      return { once: tf.mul(x, 3), both: [doubled, tf.clone(doubled)] };
    });
    const x = tf.ones([779]);
    const { once, both } = await twice({ x });
    tf.dispose([once, both[0]]);
    const [first, second] = [emptyNumbers(779).fill(-1), emptyNumbers(779).fill(-1)];
    expect(first).not.toBe(second);
    expect(new Set(both[1].dataSync())).toEqual(new Set([2]));
    const { once: again } = await twice({ x });
    again.dispose();
    const left = emptyNumbers(779);
    expect(new Set(left)).toEqual(new Set([3]));
    tf.dispose([x, both[1]]);
  });

  it('outlives the trace of a function that was given it', async () => {
    const { numbers, tensor } = filled(4);
    (await compiled(({ x }: { x: tf.Tensor }) => tf.mul(x, 2))({ x: tensor })).dispose();
    expect(emptyNumbers(777)).not.toBe(numbers);
    tensor.dispose();
  });
});

it('is the function in a tidy on other backends', async () => {
  await selectBackend('cpu');
  const before = tf.memory().numTensors;
  const x = tf.tensor1d([1, 2]);
  let calls = 0;
  const step = compiled((inputs: { x: tf.Tensor }) => tf.mul(tf.add(inputs.x, 1), ++calls));
  for (const factor of [1, 2, 3]) {
    const result = await step({ x });
    expect([...result.dataSync()]).toEqual([2 * factor, 3 * factor]);
    result.dispose();
  }
  x.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

it('has a session on each runtime for a graph that both run', () => {
  const engine = (): Engine => ({
    session: () => ({ run: () => [], dispose: () => {} }),
    memory: null,
    traffic: newTraffic(),
    gathers: true,
    scans: false,
  });
  const eager = engine();
  const backend = new GraphBackend({ ...engine(), eager });
  const graph = { nodes: [], constants: [], inputs: [], outputs: [] };
  const step = backend.session(graph);
  expect(backend.session(graph, { engine: eager })).not.toBe(step);
  expect(backend.session(graph)).toBe(step);
  expect(backend.sessionCount).toBe(2);
});
