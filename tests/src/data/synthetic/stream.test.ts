import { describe, expect, it } from 'vitest';
import {
  applyStoppingRule,
  bayesPosterior,
  evidenceOf,
  optimalStopping,
  type SyntheticEvidence,
  type SyntheticOptions,
  synthesizeThreads,
  syntheticOptionsSchema,
} from '../../../../src/data/synthetic/stream.ts';
import { threadSchema } from '../../../../src/data/thread.ts';

const tiny = {
  rumorShare: 0.4,
  minPosts: 2,
  maxPosts: 4,
  typicalPosts: 3,
  spreadPosts: 1,
  earlyPosts: 2,
  neutralShare: 0.3,
  misleadingShare: 0.35,
  earlyAccuracy: 0.7,
  misleadingAccuracy: 0.2,
  lateAccuracy: 0.8,
  slowShare: 0.25,
  slowPosts: 2,
} satisfies SyntheticOptions;
const all: SyntheticEvidence[] = ['rumor', 'nonRumor', 'neutral'];

/** P(class is `rumor`, these posts), by the words of the model's description alone. */
function jointProbability(evidence: readonly SyntheticEvidence[], rumor: boolean): number {
  let total = 0;
  for (const misleading of [true, false])
    for (const slow of [true, false]) {
      let probability =
        (rumor ? tiny.rumorShare : 1 - tiny.rumorShare) * (misleading ? 0.35 : 0.65) * (slow ? 0.25 : 0.75);
      for (const [post, said] of evidence.entries()) {
        const right = post >= tiny.earlyPosts ? 0.8 : misleading ? 0.2 : 0.7;
        if (slow && post < tiny.slowPosts) probability *= Number(said === 'neutral');
        else if (said === 'neutral') probability *= 0.3;
        else probability *= 0.7 * ((said === 'rumor') === rumor ? right : 1 - right);
      }
      total += probability;
    }
  return total;
}

const posteriorByEnumeration = (evidence: readonly SyntheticEvidence[]) =>
  jointProbability(evidence, true) / (jointProbability(evidence, true) + jointProbability(evidence, false));

function* sequences(length: number): Generator<SyntheticEvidence[]> {
  if (length === 0) yield [];
  else for (const head of sequences(length - 1)) for (const last of all) yield [...head, last];
}

describe('the posterior', () => {
  it('equals enumeration over classes and kinds of thread, for every sequence', () => {
    for (const sequence of sequences(4)) {
      const posterior = bayesPosterior(sequence, tiny);
      for (let k = 1; k <= 4; k++)
        expect(posterior[k - 1]).toBeCloseTo(posteriorByEnumeration(sequence.slice(0, k)), 12);
    }
  });

  it('is calibrated on threads, whose words it reads', () => {
    const threads = synthesizeThreads({ threads: 1500, seed: 11 });
    const last = threads.map((thread) => bayesPosterior(thread, {}).at(-1) ?? 0);
    for (const [low, high] of [
      [0, 0.1],
      [0.3, 0.7],
      [0.9, 1],
    ]) {
      const held = threads.filter((_, index) => last[index] >= low && last[index] <= high);
      const believed = last.filter((p) => p >= low && p <= high).reduce((sum, p) => sum + p, 0) / held.length;
      const true_ = held.filter(({ rumor }) => rumor).length / held.length;
      expect(Math.abs(true_ - believed)).toBeLessThan(4 * Math.sqrt((believed * (1 - believed)) / held.length));
    }
  });
});

describe('the best stopping rule', () => {
  const weights = [2, 3, 4].map((posts) => Math.exp(-((posts - 3) ** 2) / 2));
  const lengthProbability = (posts: number) => (weights[posts - 2] ?? 0) / weights.reduce((sum, w) => sum + w, 0);

  /** Expectimax over whole histories: no counts, no tables. Weighted by P(history, thread has that many posts). */
  function bestValue(history: SyntheticEvidence[], costs: { perPost: number; perThread: number }): number {
    const posts = history.length;
    const right = Math.max(jointProbability(history, true), jointProbability(history, false));
    const mass = jointProbability(history, true) + jointProbability(history, false);
    let stopped = 0;
    let ended = 0;
    for (let length = Math.max(posts, 2); length <= 4; length++) {
      const value =
        lengthProbability(length) * (right - mass * (costs.perPost * posts + (costs.perThread * posts) / length));
      stopped += value;
      if (length === posts) ended = value;
    }
    if (posts === 4) return stopped;
    const waited = ended + all.reduce((sum, next) => sum + bestValue([...history, next], costs), 0);
    return Math.max(stopped, waited);
  }

  it.each([
    { perPost: 0, perThread: 0 },
    { perPost: 0.03, perThread: 0 },
    { perPost: 0, perThread: 0.15 },
    { perPost: 0.02, perThread: 0.05 },
    { perPost: 1, perThread: 0 },
  ])('earns what a search over all histories earns, at %j', (costs) => {
    const best = optimalStopping({ ...tiny, delayCostPerPost: costs.perPost, delayCostPerThread: costs.perThread });
    const searched = all.reduce((sum, first) => sum + bestValue([first], costs), 0);
    expect(best.expectedReward).toBeCloseTo(searched, 12);
    expect(best.accuracy - costs.perPost * best.meanPosts - costs.perThread * best.earlyRate).toBeCloseTo(searched, 12);
  });

  it('does on drawn threads what it promises', () => {
    const options = { threads: 2500, seed: 5 };
    const { rule, accuracy, meanPosts, earlyRate } = optimalStopping({ ...options, delayCostPerPost: 0.01 });
    const runs = applyStoppingRule(rule, synthesizeThreads(options));
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean(runs.map(({ correct }) => Number(correct)))).toBeCloseTo(accuracy, 1.6);
    expect(Math.abs(mean(runs.map(({ postsUsed }) => postsUsed)) - meanPosts)).toBeLessThan(0.3);
    expect(Math.abs(mean(runs.map(({ usedShare }) => usedShare)) - earlyRate)).toBeLessThan(0.02);
  });

  it('stops at once when delay is dear, and reads all that could change its mind when it is free', () => {
    expect(optimalStopping({ ...tiny, delayCostPerPost: 1 }).meanPosts).toBeCloseTo(1, 12);
    const free = optimalStopping({ delayCostPerPost: 0 });
    expect(free.earlyRate).toBeGreaterThan(0.95);
    expect(free.accuracy).toBeGreaterThan(optimalStopping({ delayCostPerPost: 0.02 }).accuracy);
  });

  it('refuses costs below zero', () => {
    expect(() => optimalStopping({ delayCostPerPost: -1 })).toThrow(
      'optimal stopping delayCostPerPost: Too small: expected number to be >=0; found -1',
    );
  });
});

describe('the threads', () => {
  const threads = synthesizeThreads();

  it('are the same for the same seed and others for another', () => {
    expect(synthesizeThreads({ seed: 1 })).toEqual(threads);
    expect(synthesizeThreads({ seed: 2 })[0].posts).not.toEqual(threads[0].posts);
  });

  it('are valid, about 600, of 3 to 30 posts, half of them rumors', () => {
    for (const thread of threads) expect(threadSchema.parse(thread)).toEqual(thread);
    const lengths = threads.map(({ posts }) => posts.length).sort((a, b) => a - b);
    expect([threads.length, lengths[300]]).toEqual([600, 16]);
    expect(lengths[0]).toBeGreaterThanOrEqual(3);
    expect(lengths[599]).toBeLessThanOrEqual(30);
    expect(Math.abs(threads.filter(({ rumor }) => rumor).length - 300)).toBeLessThan(50);
    expect(new Set(threads.map(({ event }) => event)).size).toBe(5);
  });

  it('hold evidence, misleading beginnings and drifting stances in the shares asked for', () => {
    const model = syntheticOptionsSchema.parse({});
    const posts = threads.flatMap((thread) =>
      evidenceOf(thread).map((evidence, index) => ({ evidence, stance: thread.posts[index].stance, index, thread })),
    );
    const share = (of: typeof posts, holds: (post: (typeof posts)[number]) => boolean) =>
      of.filter(holds).length / of.length;
    const telling = posts.filter(({ evidence }) => evidence !== 'neutral');
    const rightly = (post: (typeof posts)[number]) => (post.evidence === 'rumor') === post.thread.rumor;
    const early = telling.filter(({ index }) => index < model.earlyPosts);
    const misled = early.filter(({ thread }) => thread.labels?.misleading === true);
    expect(share(posts, ({ evidence }) => evidence === 'neutral')).toBeCloseTo(0.45, 1.5);
    expect(
      share(
        telling.filter(({ index }) => index >= model.earlyPosts),
        rightly,
      ),
    ).toBeCloseTo(0.8, 1.5);
    expect(share(misled, rightly)).toBeCloseTo(0.25, 1);
    const queries = (of: typeof posts) => share(of, ({ stance }) => stance === 'query');
    expect(queries(early)).toBeGreaterThan(queries(telling.filter(({ index }) => index >= 10)));
  });

  it('tell nothing at first where their evidence comes late, and as much as others after', () => {
    const late = synthesizeThreads({ threads: 400, seed: 4, slowShare: 0.4, slowPosts: 6, neutralShare: 0.3 });
    const slow = late.filter(({ labels }) => labels?.slow === true);
    expect(Math.abs(slow.length - 160)).toBeLessThan(40);
    expect(slow.flatMap((thread) => evidenceOf(thread).slice(0, 6)).every((own) => own === 'neutral')).toBe(true);
    const after = late.flatMap((thread) => evidenceOf(thread).slice(6));
    expect(after.filter((own) => own === 'neutral').length / after.length).toBeCloseTo(0.3, 1.5);
  });

  it('have a claim and replies that a person can read', () => {
    for (const { text } of threads.flatMap(({ posts }) => posts)) expect(text).toMatch(/^[A-Z][^{}]*[.!?]$/);
  });

  it('come from options that are checked', () => {
    expect(() => synthesizeThreads({ rumorShare: 2 })).toThrow('synthetic stream rumorShare: Too big');
    expect(() => synthesizeThreads({ minPosts: 40 })).toThrow('minPosts: must not be above maxPosts');
    expect(() => synthesizeThreads({ typicalPosts: 40 })).toThrow(
      'typicalPosts: must lie between minPosts and maxPosts; found 40',
    );
    expect(() => synthesizeThreads(JSON.parse('{"thread": 1}'))).toThrow(/Unrecognized key.*thread/);
  });
});
