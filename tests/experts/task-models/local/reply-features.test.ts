import { describe, expect, it } from 'vitest';
import { replyFeatureCount, replyReader } from '../../../../experts/task-models/local/reply-features.ts';
import { createLocalStanceModel } from '../../../../experts/task-models/local/stance.ts';
import type { StanceItem } from '../../../../experts/task-models/task-model.ts';
import { likeliest } from '../../../../src/likeliest.ts';
import { createHashingEncoder } from '../../../../src/text/hashing-encoder.ts';

const readReply = replyReader();
const read = (item: StanceItem) => readReply(item).features();
const item = (post: string, place?: StanceItem['place']): StanceItem => ({
  threadId: 't',
  claim: 'The bridge is closed',
  post,
  place,
});
/** The features in which two replies differ. */
function difference(one: StanceItem, other: StanceItem): number[] {
  const [left, right] = [read(one), read(other)];
  return [...left.keys()].filter((feature) => left[feature] !== right[feature]);
}

describe('replyReader', () => {
  it('gives numbers from about 0 to 1, whatever is unknown', () => {
    for (const text of ['', '?', 'NO!!! "never" https://t.co/x @a @b #tag ?', 'word '.repeat(60)]) {
      for (const place of [undefined, { parent: text, depth: 40, minutesSinceClaim: 100_000 }]) {
        const values = read(item(text, place));
        expect(values).toHaveLength(replyFeatureCount);
        for (const value of values) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThan(1.6);
        }
      }
    }
  });

  it('tells apart what stands at another place, asks or denies', () => {
    const place = { parent: 'The bridge is closed', depth: 1, minutesSinceClaim: 5 };
    expect(difference(item('so', place), item('so', place))).toEqual([]);
    expect(difference(item('so', place), item('so', { ...place, depth: 3 })).length).toBe(2);
    expect(difference(item('so', place), item('so', { ...place, minutesSinceClaim: 500 })).length).toBe(1);
    // Asking, and asking at the end.
    expect(difference(item('so', place), item('so?', place)).length).toBe(2);
    expect(difference(item('he did', place), item("he didn't", place)).length).toBeGreaterThan(0);
  });
});

describe('the local stance model', () => {
  /** Words tell nothing; who answers the claim directly denies, and who answers others comments. */
  const examples = Array.from({ length: 80 }, (_, index) => ({
    item: {
      ...item(`w${index % 7} v${index % 5}`, { parent: null, depth: index % 2 === 0 ? 1 : 4, minutesSinceClaim: null }),
      threadId: `t${index}`,
    },
    label: index % 2 === 0 ? 1 : 3,
    explanation: '',
  }));
  const rightShare = async (replyFeatures: boolean) => {
    const encoder = createHashingEncoder({ dimensions: 64 });
    const model = createLocalStanceModel({ encoder, options: { replyFeatures, classifier: { l2: 0.1 } } });
    await model.tune(examples);
    const predictions = await model.predict(
      examples.map(({ item: known }, index) => ({ ...known, threadId: `new${index}` })),
    );
    return (
      predictions.filter(({ distribution }, index) => likeliest(distribution) === examples[index].label).length / 80
    );
  };

  it('learns stances from the place of a reply, which its words do not tell', async () => {
    expect(await rightShare(true)).toBeGreaterThan(0.95);
    expect(await rightShare(false)).toBeLessThan(0.8);
  });
});
