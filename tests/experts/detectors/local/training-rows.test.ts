import { describe, expect, it } from 'vitest';
import { LocalDetector } from '../../../../experts/detectors/local/local-detector.ts';
import { trainLocalDetector } from '../../../../experts/detectors/local/train-local-detector.ts';
import { loneClaimWeight, replyWeight, trainingRows } from '../../../../experts/detectors/local/training-rows.ts';
import { floatsFromBase64 } from '../../../../src/base64-floats.ts';
import { prefixGrower } from '../../../../src/data/growing-prefix.ts';
import { rumorTask } from '../../../../src/data/task.ts';
import type { SparseMatrix } from '../../../../src/regression/sparse-matrix.ts';
import { createEncoder } from '../../../../src/text/create-encoder.ts';
import { threadOf, timed, toyThreads } from '../../threads.ts';

/** Rumours are answered sooner. */
const threads = [
  ...toyThreads({ count: 12, seed: 1 }),
  { ...threadOf({ id: 'empty', texts: ['', '', 'hoax', ''] }), rumor: true },
].map((thread, index) => timed(thread, thread.rumor ? 1 + index : 30 + index));

describe('the rows of the training', () => {
  it('have parts of their lengths, of prefixes of 1, 2, 4, … posts', async () => {
    const encoder = await createEncoder({ name: 'hashing', dimensions: 16 });
    const { features, blocks, lengthOfRow } = await trainingRows({ threads, encoder, maxPosts: 4 });
    expect(new Set(lengthOfRow)).toEqual(new Set([1, 2, 3, 4]));
    expect(blocks.map(({ part, kind }) => `${part} ${kind}`)).toEqual([
      'claim words',
      'claim characters',
      'claim embedding',
      'replies words',
      'replies characters',
      'replies embedding',
    ]);
    for (const [row, length] of lengthOfRow.entries()) {
      const entries = Array.from({ length: features.starts[row + 1] - features.starts[row] }, (_, entry) => ({
        column: features.indices[features.starts[row] + entry],
        value: features.values[features.starts[row] + entry],
      }));
      expect(entries.at(-1)).toEqual({ column: features.columns - 1, value: 1 });
      for (const { part, from, columns } of blocks) {
        const own = entries.filter(({ column }) => column >= from && column < from + columns);
        const squares = own.reduce((sum, { value }) => sum + value * value, 0);
        const expected = part === 'replies' ? replyWeight : length === 1 ? loneClaimWeight : 1;
        if (own.length > 0) expect(Math.sqrt(squares)).toBeCloseTo(expected, 5);
        if (part === 'replies' && length === 1) expect(own).toEqual([]);
      }
    }
  });

  it.each([
    [null, false],
    [{ name: 'hashing', dimensions: 16 } as const, false],
    [null, true],
  ])(
    'are what a growing thread is scored by, empty texts and all (encoder %j, times %j)',
    async (encoderOptions, timing) => {
      const encoder = encoderOptions === null ? null : await createEncoder(encoderOptions);
      const options = { encoder: encoderOptions, characterWeights: [1.5], l2: [1e-3], folds: 2, maxPosts: 4, timing };
      const { model } = await trainLocalDetector({ threads, task: rumorTask, options, seed: 1 });
      expect(new LocalDetector({ model, encoder }).model).toBe(model);
      const { embedding } = model;
      const open = prefixGrower(
        model,
        embedding && { claim: floatsFromBase64(embedding.claim), replies: floatsFromBase64(embedding.replies) },
      );
      const rows = await trainingRows({ threads, encoder, maxPosts: 4, timing });
      const weights = rows.blocks.flatMap(({ part, kind }) => {
        const scale = part === 'replies' ? 1 / replyWeight : 1;
        const saved = kind === 'embedding' ? embedding?.[part] : model[part][kind].weights;
        return Array.from(floatsFromBase64(saved ?? ''), (weight) => weight * scale);
      });
      weights.push(model.intercepts[1]);
      const timingWeights = floatsFromBase64(model.timing?.weights ?? '');
      const product = ({ starts, indices, values }: SparseMatrix, row: number, of: ArrayLike<number>) => {
        let sum = 0;
        for (let entry = starts[row]; entry < starts[row + 1]; entry++) sum += values[entry] * of[indices[entry]];
        return sum;
      };
      for (const [row, length] of rows.lengthOfRow.entries()) {
        const times = rows.timing === null ? 0 : product(rows.timing.values, row, timingWeights);
        expect(times !== 0).toBe(timing && length > 1);
        const expected = product(rows.features, row, weights) + times;
        const thread = open();
        for (const post of threads[rows.threadOfRow[row]].posts)
          thread.add(post, encoder === null ? undefined : (await encoder.encode([post.text])).slice());
        const logits = thread.logits(length);
        expect(logits[0]).toBe(0);
        expect(logits[1]).toBeCloseTo(expected, 4);
        const told = thread.contributions(length).reduce((sum, value) => sum + value, 0);
        expect(told + model.intercepts[1]).toBeCloseTo(logits[1], 10);
      }
    },
  );
});
