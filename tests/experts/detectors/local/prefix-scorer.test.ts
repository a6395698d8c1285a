import { expect, it } from 'vitest';
import {
  featureCount,
  prefixFeatureOptionsSchema,
  trainingRows,
} from '../../../../experts/detectors/local/prefix-features.ts';
import { PrefixScorer } from '../../../../experts/detectors/local/prefix-scorer.ts';
import { prefixOf } from '../../../../src/data/thread.ts';
import { Random } from '../../../../src/tensor/random.ts';
import { createEncoder } from '../../../../src/text/create-encoder.ts';
import { threadOf, toyThreads } from '../../threads.ts';

it('scores a prefix as the product of its training row and the weights, empty texts and all', async () => {
  const encoder = await createEncoder({ name: 'hashing', dimensions: 64 });
  const features = prefixFeatureOptionsSchema.parse({ postCountWeight: 0.5 });
  const threads = [...toyThreads({ count: 12, seed: 1 }), threadOf({ id: 'empty', texts: ['', '', 'hoax', ''] })];
  const rows = await trainingRows({ threads, encoder, features, maxPosts: 4 });
  const width = featureCount(64);
  const random = Random.seeded({ seed: 1, purpose: 'weights' });
  const weights = Float32Array.from({ length: 2 * width }, () => random.normal());
  const { dimensionWeights } = rows;
  const scorer = new PrefixScorer({ encoder, features, dimensionWeights, weights, classCount: 3 });

  // 1, 2, 4 posts, and threads that end before.
  expect(new Set(rows.lengthOfRow)).toEqual(new Set([1, 2, 3, 4]));
  for (const [row, length] of rows.lengthOfRow.entries()) {
    const { logits, contributions } = await scorer.score(prefixOf(threads[rows.threadOfRow[row]], length));
    expect(logits[0]).toBe(0);
    expect(contributions).toHaveLength(length * 3);
    for (const label of [1, 2]) {
      let expected = 0;
      for (let feature = 0; feature < width; feature++)
        expected += rows.features[row * width + feature] * weights[(label - 1) * width + feature];
      expect(logits[label]).toBeCloseTo(expected, 4);
    }
  }
});
