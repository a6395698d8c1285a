import { describe, expect, it } from 'vitest';
import { replyReader } from '../../../../experts/task-models/local/reply-features.ts';
import { createLocalStanceModel } from '../../../../experts/task-models/local/stance.ts';
import { stanceClasses } from '../../../../experts/task-models/task-model.ts';
import { createHashingEncoder } from '../../../../src/text/hashing-encoder.ts';

const encoder = createHashingEncoder({ dimensions: 64 });
const overlapOf = (of: string, post: string) => replyReader()({ threadId: 't', claim: of, post }).overlap;
const claim = 'Police close the bridge in Ottawa';

describe('the overlap of a reply with its claim', () => {
  it.each([
    ['Police close the bridge in Ottawa', 1],
    // 3 shared of 6 + 4 − 3
    ['@someone POLICE, the bridge: ugly https://example.org/ottawa', 3 / 7],
    ['nothing of it', 0],
    ['', 0],
  ])('of %j', (post, expected) => {
    expect(overlapOf(claim, post)).toBeCloseTo(expected, 12);
  });

  it('counts characters where words are not set apart', () => {
    expect(overlapOf('桥已关闭', '桥没关')).toBeCloseTo(2 / 5, 12);
    expect(overlapOf('', '')).toBe(0);
  });

  it('speaks for support before training, unless the reply denies it', async () => {
    const stances = async (options: { claimOverlap?: boolean; cues?: 'none' }) => {
      const model = createLocalStanceModel({ encoder, options });
      const posts = ['RT: Police close the bridge in Ottawa', 'Fake: police close the bridge in Ottawa', 'Good night'];
      const predictions = await model.predict(posts.map((post) => ({ threadId: 't', claim, post })));
      return predictions.map(({ distribution }) => [...distribution]);
    };
    const likeliest = (rows: number[][]) => rows.map((row) => stanceClasses[row.indexOf(Math.max(...row))]);
    const [shared, without, unknown] = [
      await stances({}),
      await stances({ claimOverlap: false }),
      await stances({ cues: 'none' }),
    ];
    expect(likeliest(shared)).toEqual(['support', 'deny', 'comment']);
    expect(likeliest(without)).toEqual(['comment', 'deny', 'comment']);
    expect(unknown).toEqual(unknown.map(() => stanceClasses.map(() => 1 / 4)));
  });

  it('is learnt from examples', async () => {
    const model = createLocalStanceModel({
      encoder,
      options: { cues: 'none', replyFeatures: false, classifier: { tuneFrom: 'nothing', l2: 0.01 } },
    });
    const words = ['bridge', 'police', 'ottawa', 'close', 'night', 'lunch', 'rain', 'song'];
    const examples = Array.from({ length: 64 }, (_, index) => {
      const [one, other] = [words[index % 8], words[(index * 3 + 1) % 8]];
      // The same words in all stances: only whether the claim has them tells support from comment.
      const isRepeated = index % 2 === 0;
      const own = {
        threadId: `t${index}`,
        claim: isRepeated ? `${one} ${other}` : 'quite different',
        post: `${one} ${other}`,
      };
      return { item: own, label: stanceClasses.indexOf(isRepeated ? 'support' : 'comment'), explanation: '' };
    });
    await model.tune(examples);
    const [repeated, different] = await model.predict([
      { threadId: 'x', claim: 'snow tonight', post: 'snow tonight' },
      { threadId: 'y', claim: 'sun tomorrow', post: 'snow tonight' },
    ]);
    expect(repeated.distribution[0]).toBeGreaterThan(0.5);
    expect(different.distribution[3]).toBeGreaterThan(0.5);
  });
});
