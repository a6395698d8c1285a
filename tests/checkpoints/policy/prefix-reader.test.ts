import { describe, expect, it } from 'vitest';
import { unicodeThreads } from '../../../checkpoints/policy/golden-inputs.ts';
import { bundledModelSchema, prefixReader } from '../../../checkpoints/policy/prefix-reader.ts';
import { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { floatsToBase64, integersToBase64 } from '../../../src/base64-floats.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import { Random } from '../../../src/tensor/random.ts';
import { type NgramUnit, ngramCounter } from '../../../src/text/ngram-counts.ts';
import { makeThread } from '../../src/data/fixtures.ts';

const labels = ['non-rumor', 'true', 'false'];
const random = Random.seeded({ seed: 2, purpose: 'test model' });
const floats = (length: number) => floatsToBase64(Float32Array.from({ length }, () => 3 * random.normal()));
const ngrams = { version: 1, words: { min: 1, max: 2 }, characters: { min: 3, max: 5 } } as const;
/** Every other n-gram of the texts, so that some are unknown. */
const partOf = (texts: readonly string[]) => {
  const count = ngramCounter(ngrams);
  const block = (unit: NgramUnit) => {
    const keys = [...new Set(texts.flatMap((text) => [...count(text)[unit].keys]))].filter((_, index) => index % 2 > 0);
    return {
      keys: integersToBase64(Int32Array.from(keys)),
      idf: floats(keys.length),
      weights: floats(2 * keys.length),
    };
  };
  return { words: block('words'), characters: block('characters') };
};
const detector = new LocalDetector({
  encoder: null,
  model: {
    format: 'earshot-local-detector',
    formatVersion: 3,
    task: 'rumor',
    labels,
    encoder: null,
    embedding: null,
    ngrams,
    claim: partOf(unicodeThreads.map(({ texts }) => texts[0])),
    replies: partOf(unicodeThreads.flatMap(({ texts }) => texts.slice(1))),
    timing: { means: [1.5, -1, 2, 3], deviations: [0.7, 1.2, 0, 0.9], weights: floats(2 * 4) },
    loneClaimWeight: 2,
    intercepts: [0, 0.4, -0.2],
    temperature: 1.3,
    offsets: [0, -0.7, 0.3],
    calibration: { scale: 0.6, growth: 0.4, mostPosts: 3 },
    training: {
      seed: 1,
      threads: {},
      threadIdsSha256: '',
      rows: 0,
      l2: 1,
      characterWeight: 1,
      heldOutLogLoss: 0,
      heldOut: { threads: 0, support: {}, systems: [] },
    },
  },
});

describe('the reader of prefixes in a bundle', () => {
  const reader = prefixReader(bundledModelSchema.parse(detector.model));
  const threads = unicodeThreads.map(({ id, texts }) => {
    const thread = makeThread(id, { posts: texts.length });
    return { ...thread, posts: thread.posts.map((post, index) => ({ ...post, text: texts[index] })) };
  });

  it('gives the probabilities of the local detector', async () => {
    for (const thread of threads) {
      const read = reader.open();
      for (const [index, post] of thread.posts.entries()) {
        const own = read(post);
        const judgement = await detector.judge(prefixOf(thread, index + 1));
        for (const [label, name] of labels.entries())
          expect(own[label]).toBeCloseTo(judgement.probabilities?.[name] ?? Number.NaN, 12);
      }
    }
  });
});
