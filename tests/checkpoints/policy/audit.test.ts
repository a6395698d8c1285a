import { describe, expect, it } from 'vitest';
import { auditSchema, changedPrediction, isAudited } from '../../../checkpoints/policy/audit.ts';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { mixedBundle } from '../../experiments/serve/small-server.ts';
import { smallGuarantee, sourceOf } from './small-bundle.ts';

const ids = Array.from({ length: 20_000 }, (_, index) => `thread-${index}`);
const threads = synthesizeThreads({ threads: 60, seed: 3 });

describe('the draw of audits', () => {
  it('takes the share of threads that is wanted, others with another seed, and more of them with a larger share', () => {
    const drawn = (share: number, seed = 1) => ids.filter((id) => isAudited(id, { share, seed }));
    // Three standard deviations of 20,000 draws.
    for (const share of [0.1, 0.5]) {
      const deviation = Math.sqrt(share * (1 - share) * ids.length);
      expect(Math.abs(drawn(share).length - share * ids.length)).toBeLessThan(3 * deviation);
    }
    expect(drawn(1)).toHaveLength(ids.length);
    const tenth = new Set(drawn(0.1));
    expect(drawn(0.5).filter((id) => tenth.has(id))).toHaveLength(tenth.size);
    const both = drawn(0.1, 2).filter((id) => tenth.has(id)).length;
    expect(Math.abs(both - 200)).toBeLessThan(3 * Math.sqrt(200));
  });

  it('is the same in every version', () => {
    const drawn = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '谣言', '😱'].map((id) =>
      isAudited(id, { share: 0.4, seed: 7 }),
    );
    expect(drawn).toMatchInlineSnapshot(`
      [
        false,
        true,
        true,
        false,
        true,
        false,
        false,
        false,
        true,
        false,
      ]
    `);
  });
});

describe('an audit by a reader', () => {
  it('holds both predictions, and at every post what another threshold would have seen', async () => {
    const folder = await mixedBundle();
    const policy = await loadPolicy(sourceOf(folder));
    const readsOn = await loadPolicy(sourceOf(await mixedBundle({ guarantee: smallGuarantee(1) })));
    const outcomes = new Set<boolean>();
    for (const thread of threads) {
      const audit = await policy.audit(thread, { share: 0.1, seed: 1, opened: new Date(0) });
      expect(auditSchema.parse(audit)).toMatchObject({ opened: '1970-01-01T00:00:00.000Z', probability: 0.1 });
      const { outcome } = audit;
      if (outcome === null || 'missing' in outcome) throw new Error('it has ended');
      const { postsUsed, prediction } = await policy.decide(thread);
      const whole = await readsOn.decide(thread);
      expect(outcome).toMatchObject({ postsUsed, posts: Math.min(10, thread.posts.length) });
      expect([outcome.atStop, outcome.atEnd]).toEqual([prediction?.label, whole.prediction?.label]);
      if (postsUsed < outcome.posts) {
        expect(outcome.path?.map(({ score }) => score)).toEqual(whole.scores);
        expect(outcome.path?.[postsUsed - 1].label).toBe(outcome.atStop);
      }
      outcomes.add(changedPrediction(outcome));
    }
    expect(outcomes).toEqual(new Set([true, false]));
  });

  it('names the policy by its files, whatever its guarantee', async () => {
    const digests = await Promise.all(
      [null, smallGuarantee(0.2)].map(
        async (guarantee) => (await loadPolicy(sourceOf(await mixedBundle({ guarantee })))).digest,
      ),
    );
    expect(digests[0]).toBe(digests[1]);
  });

  it('queries a language model once, at the end', async () => {
    const lengths: number[] = [];
    const source = sourceOf(await mixedBundle());
    const judge = async (posts: readonly unknown[]) => {
      lengths.push(posts.length);
      return { label: 'rumor', probabilities: null };
    };
    const policy = await loadPolicy({ ...source, judge });
    const audit = await policy.audit(
      { id: 't', posts: Array.from({ length: 12 }, () => 'zzz') },
      { share: 1, seed: 1 },
    );
    expect(audit.outcome).toMatchObject({ atEnd: 'rumor', path: null });
    expect(lengths.length).toBe(new Set(lengths).size);
    expect(lengths.length).toBeLessThanOrEqual(2);
  });
});
