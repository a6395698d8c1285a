import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { selectBackend } from '../../../../src/tensor/backend.ts';
import { compiled } from '../../../../src/tensor/graph/compiled.ts';
import { repeated } from '../../../../src/tensor/graph/repeated.ts';
import { sumRows } from '../../../../src/tensor/operations.ts';

const sliceRow = (x: tf.Tensor2D) => tf.slice<tf.Rank.R2, tf.Tensor2D>(x, [0, 0], [1, 2]);

describe('a repeated step', () => {
  it.each([
    { backend: 'wasm', calls: 12 },
    // Traced twice, and then never again.
    { backend: 'onnx', calls: 2 },
  ] as const)(
    'moves its state and stacks its outputs on $backend, where it is called $calls times',
    async ({ backend, calls }) => {
      await selectBackend(backend);
      let called = 0;
      const sums = compiled(({ start, rows, factor }: Record<'start' | 'rows' | 'factor', tf.Tensor2D>) =>
        repeated({
          count: 3,
          state: [tf.add(start, 0), tf.mul(start, 2)],
          stacks: { rows, places: tf.mul(rows, 10) },
          step([sum, last], { rows, places }) {
            called++;
            const more = tf.mul<tf.Tensor2D>(rows, tf.mul(factor, 2));
            return {
              state: [tf.add(sum, sumRows(more)), tf.add(last, sliceRow(more))],
              outputs: { more, places: tf.reshape<tf.Rank.R2>(tf.neg(places), [2, 2]), none: null },
            };
          },
        }),
      );
      const before = tf.memory().numTensors;
      for (let call = 0; call < 4; call++) {
        const inputs = {
          start: tf.tensor2d([[1, 2]]),
          rows: tf.tensor2d([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [6, 2]),
          factor: tf.tensor2d([[0.5 + call]]),
        };
        const { state, outputs } = await sums(inputs);
        const factor = 1 + 2 * call;
        expect([...state[0].dataSync()]).toEqual([1 + 36 * factor, 2 + 42 * factor]);
        expect([...state[1].dataSync()]).toEqual([2 + 15 * factor, 4 + 18 * factor]);
        expect(outputs.more?.shape).toEqual([6, 2]);
        expect(outputs.more?.dataSync()).toEqual(inputs.rows.dataSync().map((value) => value * factor));
        expect(outputs.places?.dataSync()[11]).toBe(-120);
        expect(outputs.none).toBeNull();
        tf.dispose([inputs, [...state], outputs.more, outputs.places]);
      }
      expect(called).toBe(calls);
      expect(tf.memory().numTensors).toBe(before);
    },
  );

  it('is refused where something that it returns is the same at every step', async () => {
    await selectBackend('onnx');
    const same = compiled(({ x }: { x: tf.Tensor2D }) =>
      repeated({
        count: 2,
        state: [tf.neg(x)],
        stacks: { x },
        step: ([state]) => ({ state: [tf.neg(state)], outputs: { same: tf.exp<tf.Tensor2D>(x) } }),
      }),
    );
    const x = tf.tensor2d([[1], [2]]);
    await expect(same({ x })).rejects.toThrow(/same at every step; compute it before/);
    x.dispose();
  });
});
