import { describe, expect, it } from 'vitest';
import { plantedStances } from '../../../../src/data/synthetic/planted-stances.ts';
import { threadSchema } from '../../../../src/data/thread.ts';

const { train, test, pretraining } = plantedStances({ threads: 400, testThreads: 40, replies: 10, seed: 3 });
const replies = train.flatMap(({ posts }) => posts.slice(1));

/** Of the pretraining items: which stance each plain expression says there. */
const said = new Map(
  pretraining.map(({ labels, posts }) => [posts[0].text.split(' ').slice(1).join(' '), String(labels?.stance)]),
);
const shownStance = (text: string) => [...said].find(([words]) => ` ${text} `.includes(` ${words} `))?.[1];

describe('plantedStances', () => {
  it('makes valid threads of every veracity, none twice, the same under a seed', () => {
    const ids = [...train, ...test, ...pretraining].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const thread of [...train, ...test, ...pretraining]) expect(() => threadSchema.parse(thread)).not.toThrow();
    for (const veracity of ['non-rumor', 'true', 'false', 'unverified'])
      expect(train.filter((thread) => thread.veracity === veracity)).toHaveLength(100);
    expect(plantedStances({ threads: 400, testThreads: 40, replies: 10, seed: 3 }).train).toEqual(train);
    expect(plantedStances({ threads: 400, testThreads: 40, replies: 10, seed: 4 }).train).not.toEqual(train);
  });

  it('lets the planted share of the replies show another stance than they have', () => {
    const right = replies.filter(({ text, stance }) => shownStance(text) === stance).length / replies.length;
    expect(right).toBeGreaterThan(0.47);
    expect(right).toBeLessThan(0.53);
    const honest = plantedStances({ threads: 40, slipperyShare: 0 }).train.flatMap(({ posts }) => posts.slice(1));
    expect(honest.every(({ text, stance }) => shownStance(text) === stance)).toBe(true);
  });

  it('tells the veracity by how replies stand', () => {
    const shareOf = (veracity: string, stance: string) => {
      const own = train.filter((thread) => thread.veracity === veracity).flatMap(({ posts }) => posts.slice(1));
      return own.filter((post) => post.stance === stance).length / own.length;
    };
    expect(shareOf('true', 'support')).toBeCloseTo(0.7, 1);
    expect(shareOf('false', 'deny')).toBeCloseTo(0.7, 1);
    expect(shareOf('unverified', 'query')).toBeCloseTo(0.7, 1);
    expect(shareOf('non-rumor', 'comment')).toBeCloseTo(0.7, 1);
  });

  it('lets the replies of campaigns stand as those of another veracity, in training alone', () => {
    const made = plantedStances({ threads: 400, testThreads: 100, slipperyShare: 0, campaignShare: 0.3, seed: 3 });
    const isCampaign = ({ posts: [claim] }: (typeof train)[number]) => !claim.text.startsWith('reports about');
    const campaigns = made.train.filter(isCampaign);
    expect(campaigns.length / 400).toBeCloseTo(0.3, 1);
    expect(made.test.some(isCampaign)).toBe(false);
    const typical = { 'non-rumor': 'comment', true: 'support', false: 'deny', unverified: 'query' };
    const shareTypical = (threads: readonly (typeof train)[number][]) => {
      const stances = threads.flatMap(({ posts, veracity }) =>
        posts.slice(1).map(({ stance }) => stance === typical[veracity ?? 'true']),
      );
      return stances.filter(Boolean).length / stances.length;
    };
    expect(shareTypical(campaigns)).toBeLessThan(0.15);
    expect(shareTypical(made.train.filter((thread) => !isCampaign(thread)))).toBeGreaterThan(0.65);
  });

  it('uses words of the true stance that pretraining does not know', () => {
    const known = new Set(pretraining.flatMap(({ posts }) => posts[0].text.split(' ')));
    const stancesOf = new Map<string, Set<string>>();
    for (const { text, stance } of replies)
      for (const word of text.split(' ').filter((word) => !known.has(word)))
        stancesOf.set(word, (stancesOf.get(word) ?? new Set()).add(String(stance)));
    expect(stancesOf.size).toBe(20);
    expect([...stancesOf.values()].every((stances) => stances.size === 1)).toBe(true);
  });
});
