import { describe, expect, it } from 'vitest';
import { hashingModelSchema, prefixReader, studentFeatures } from '../../../checkpoints/bundle/prefix-reader.ts';
import { unicodeThreads } from '../../../checkpoints/bundle/unicode-threads.ts';
import { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { studentFeatures as trainedWith } from '../../../experts/detectors/local/student.ts';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createHashingEncoder } from '../../../src/text/hashing-encoder.ts';
import { makeThread } from '../../src/data/fixtures.ts';

const dimensions = 16;
const labels = ['non-rumor', 'true', 'false'];
const random = Random.seeded({ seed: 2, purpose: 'test model' });
const floats = (length: number) => floatsToBase64(Float32Array.from({ length }, () => 3 * random.normal()));
const encoder = createHashingEncoder({ dimensions });
const detector = new LocalDetector({
  encoder,
  model: {
    format: 'earshot-local-detector',
    formatVersion: 1,
    task: 'rumor',
    labels,
    encoder: encoder.identity,
    dimensions,
    features: { inverseDocumentFrequency: true, replyWeight: 1.5, loneClaimWeight: 2, postCountWeight: 0.7 },
    dimensionWeights: floats(dimensions),
    weights: floats((labels.length - 1) * (2 * dimensions + 2)),
    temperature: 1.3,
    training: {
      seed: 1,
      threads: {},
      threadIdsSha256: '',
      rows: 0,
      l2: 1,
      heldOutLogLoss: 0,
      heldOutAccuracy: 0,
    },
  },
});

describe('the reader of prefixes in a bundle', () => {
  const reader = prefixReader(hashingModelSchema.parse(detector.model));
  const threads = unicodeThreads.map(({ id, texts }) => {
    const thread = makeThread(id, { posts: texts.length });
    return { ...thread, posts: thread.posts.map((post, index) => ({ ...post, text: texts[index] })) };
  });

  it('gives the probabilities of the local detector', async () => {
    for (const thread of threads) {
      const read = reader.open();
      for (const [index, { text }] of thread.posts.entries()) {
        const own = read(text);
        const judgement = await detector.judge(prefixOf(thread, index + 1));
        for (const [label, name] of labels.entries())
          expect(own[label]).toBeCloseTo(judgement.probabilities?.[name] ?? Number.NaN, 12);
      }
    }
  });

  it('makes the features of the student', async () => {
    for (const thread of threads) {
      const expected = await trainedWith(detector, thread, thread.posts.length);
      const read = studentFeatures(reader);
      const found = thread.posts.flatMap(({ text }) => read(text));
      expect(found).toHaveLength(expected.length);
      for (const [index, value] of expected.entries()) expect(found[index]).toBeCloseTo(value, 5);
    }
  });
});
