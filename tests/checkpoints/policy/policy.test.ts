import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PolicyDefinition,
  type PolicySources,
  seenJudgement,
  threadReader,
} from '../../../checkpoints/policy/policy.ts';
import type { DetectorOutput, PolicyPost } from '../../../checkpoints/policy/policy-post.ts';
import { queriesUntil, replay } from '../../../checkpoints/policy/replay.ts';
import {
  afterHours,
  allPosts,
  confidentAt,
  firstPosts,
  studentConfidentAt,
} from '../../../checkpoints/policy/rules.ts';
import { columnsOf, type FieldName, type SeenPost, stateFields } from '../../../checkpoints/policy/state-fields.ts';
import { hoursBetween } from '../../../src/data/iso-time.ts';

const labels = ['non-rumor', 'rumor'];
const dimensions = 3;
const embed = async (texts: readonly string[]) =>
  Float32Array.from(texts.flatMap((text) => [text.length, text.charCodeAt(0) % 7, 1]));
const fieldSettings = {
  labels,
  posts: { dimensions, pooling: 'mean' as const, continued: Float32Array.of(0.5, -1, 2) },
};
/** Probabilities that follow from the texts so far. */
const probabilitiesOf = (posts: readonly PolicyPost[]) => {
  const share = ((posts.reduce((sum, { text }) => sum + text.length, 0) * 37) % 101) / 101;
  return [1 - share, share];
};
const outputOf = (posts: readonly PolicyPost[]): DetectorOutput => {
  const [first, second] = probabilitiesOf(posts);
  if (posts.length % 5 === 4) return { label: null, probabilities: null };
  return { label: labels[Number(second > first)], probabilities: { 'non-rumor': first, rumor: second } };
};

interface Counted {
  sources: PolicySources;
  asked: number[];
}
function counted(): Counted {
  const asked: number[] = [];
  const sources: PolicySources = {
    embed,
    openStudent: () => {
      const posts: PolicyPost[] = [];
      return async (post) => {
        posts.push(post);
        return probabilitiesOf(posts);
      };
    },
    openDetector: () => async (posts) => {
      asked.push(posts.length);
      return outputOf(posts);
    },
  };
  return { sources, asked };
}

async function seenOf(posts: readonly PolicyPost[]): Promise<SeenPost[]> {
  const embeddings = await embed(posts.map(({ text }) => text));
  return posts.map((post, index) => ({
    hours: hoursBetween(posts[0].time ?? null, post.time ?? null),
    embedding: embeddings.subarray(index * dimensions, (index + 1) * dimensions),
    student: probabilitiesOf(posts.slice(0, index + 1)),
    judgement: seenJudgement(outputOf(posts.slice(0, index + 1)), labels),
  }));
}

/** A score that depends on every number of the state. */
const mixing = (columns: number) => (states: Float32Array) =>
  Float32Array.from({ length: states.length / columns }, (_, row) => {
    const sum = states
      .subarray(row * columns, (row + 1) * columns)
      .reduce((total, value, index) => total + value * Math.sin(index + 1), 0);
    return 1 / (1 + Math.exp(-sum));
  });

const policies = fc.record({
  names: fc.subarray<FieldName>(['posts', 'posts seen', 'student', 'judgement'], { minLength: 1 }),
  lengths: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }).map((own) => own.sort((a, b) => a - b)),
  actsAt: fc.constantFrom('every-post' as const, 'queried-posts' as const),
  threshold: fc.double({ min: 0.2, max: 1, noNaN: true }),
  maxPosts: fc.integer({ min: 1, max: 15 }),
  judged: fc.integer({ min: 1, max: 15 }),
  deadlinePosts: fc.option(fc.integer({ min: 1, max: 12 })),
  alerts: fc.option(fc.subarray(labels, { minLength: 1, maxLength: labels.length - 1 })),
  deadlineHours: fc.option(fc.double({ min: 0.01, max: 3, noNaN: true })),
});
const threads = fc
  .array(
    fc.record({
      text: fc.string({ minLength: 1, maxLength: 9 }),
      minutes: fc.option(fc.integer({ min: 0, max: 90 }), { freq: 5 }),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((posts) =>
    posts.map(({ text, minutes }) => ({
      text,
      time: minutes === null ? null : new Date(Date.UTC(2024, 0, 1, 0, minutes)).toISOString(),
    })),
  );

describe('a policy', () => {
  it('decides post by post as it decides a whole thread, for every field and limit', async () => {
    await fc.assert(
      fc.asyncProperty(policies, threads, async (made, posts) => {
        const fields = stateFields(made.names, fieldSettings);
        const definition: PolicyDefinition = {
          task: { name: 'rumor', labels, alerts: made.alerts ?? undefined },
          fields,
          queries: {
            lengths: made.lengths.filter((length) => length <= made.judged),
            actsAt: made.actsAt,
            maxPosts: made.judged,
          },
          threshold: made.threshold,
          limits: {
            maxPosts: made.maxPosts,
            deadline: { posts: made.deadlinePosts, hours: made.deadlineHours },
          },
          score: mixing(columnsOf(fields)),
        };
        const whole = replay(definition, await seenOf(posts));
        const { sources, asked } = counted();
        const decision = await threadReader(definition, sources).decide({ posts });
        expect(decision).toMatchObject({
          stopped: whole.stop.why !== 'end',
          why: whole.stop.why,
          postsUsed: whole.stop.postsUsed,
          hours: whole.stop.hours,
          queries: asked.length,
          prediction: predictionOf(outputOf(posts.slice(0, Math.min(whole.stop.postsUsed, made.judged)))),
        });
        expect(decision.scores).toEqual([...whole.scores.subarray(0, decision.postsUsed)]);
        expect(decision.queries).toBe(whole.queries);
      }),
      { seed: 28, numRuns: 300 },
    );
  });

  it('can be asked again where its detector failed: the post counts as not read', async () => {
    let fails = true;
    const { sources } = counted();
    const flaky: PolicySources = {
      ...sources,
      openDetector: () => async (posts) => {
        if (fails) throw new Error('not now');
        return outputOf(posts);
      },
    };
    const definition = ruleOf(confidentAt(0.99, [1, 2, 3]));
    const thread = threadReader(definition, flaky).open();
    await expect(thread.read('a')).rejects.toThrow('not now');
    fails = false;
    expect(await thread.read('a')).toMatchObject({ postsRead: 1, queries: 1 });
  });

  it('stops early with an alert alone, and asks again whether it is one where its detector failed', async () => {
    let fails = true;
    const said = ['non-rumor', 'non-rumor', 'rumor'];
    const judged: number[] = [];
    const sources: PolicySources = {
      ...counted().sources,
      openDetector: () => async (posts) => {
        judged.push(posts.length);
        if (fails) throw new Error('not now');
        return { label: said[posts.length - 1] ?? 'rumor', probabilities: null };
      },
    };
    const definition = ruleOf(firstPosts(2));
    const alerting = { ...definition, task: { ...definition.task, alerts: ['rumor'] } };
    const thread = threadReader(alerting, sources).open();
    // Nothing is asked before the rule would stop.
    expect(await thread.read('a')).toMatchObject({ why: null, queries: 0 });
    await expect(thread.read('b')).rejects.toThrow('not now');
    expect(thread.reading()).toMatchObject({ postsRead: 1, why: null });
    fails = false;
    expect(await thread.read('b')).toMatchObject({ postsRead: 2, why: null, queries: 1 });
    expect(await thread.read('c')).toMatchObject({ postsUsed: 3, why: 'threshold', stopped: true, queries: 2 });
    expect(judged).toEqual([2, 2, 3]);

    const passing = threadReader(alerting, {
      ...sources,
      openDetector: () => async () => ({ label: 'non-rumor', probabilities: null }),
    });
    expect(await passing.decide({ posts: ['a', 'b', 'c', 'd'] })).toMatchObject({
      postsUsed: 4,
      why: 'end',
      stopped: false,
    });
  });

  it('decides a thread that has gone silent when its time is up', async () => {
    const thread = threadReader(ruleOf(afterHours(1)), counted().sources).open();
    await thread.read({ text: 'a', time: '2024-01-01T00:00:00Z' });
    expect(thread.wait(0.9)).toMatchObject({ stopped: false, why: null });
    expect(thread.wait(1.2)).toMatchObject({ stopped: true, why: 'deadline', hours: 1, postsUsed: 1 });
    // Nothing is read after that.
    expect(await thread.read({ text: 'b', time: '2024-01-01T00:10:00Z' })).toMatchObject({ postsRead: 1 });
  });
});

describe('a rule', () => {
  const posts = Array.from({ length: 6 }, (_, index) => ({
    text: 'x'.repeat(index + 1),
    time: new Date(Date.UTC(2024, 0, 1, index)).toISOString(),
  }));

  it.each([
    [firstPosts(1), { postsUsed: 1, why: 'threshold', queries: 1 }],
    [firstPosts(3), { postsUsed: 3, why: 'threshold', queries: 1 }],
    [firstPosts(50), { postsUsed: 6, why: 'end', queries: 1 }],
    [allPosts, { postsUsed: 6, why: 'end', queries: 1 }],
    [afterHours(2.5), { postsUsed: 3, why: 'deadline', hours: 2.5, queries: 1 }],
    [afterHours(2), { postsUsed: 3, why: 'deadline', queries: 1 }],
    [afterHours(9), { postsUsed: 6, why: 'end', queries: 1 }],
    // The confidences are .63, .90, .80, none, .51, .69.
    [confidentAt(0.85, [1, 2, 3, 4, 5, 6]), { postsUsed: 2, why: 'threshold', queries: 2 }],
    [confidentAt(0.75, [1, 3, 5]), { postsUsed: 3, why: 'threshold', queries: 2 }],
    [confidentAt(0.95, [1, 3, 5]), { postsUsed: 6, why: 'end', queries: 4 }],
    [studentConfidentAt(0.85), { postsUsed: 2, why: 'threshold', queries: 1 }],
  ])('$name', async (rule, expected) => {
    expect(await threadReader(ruleOf(rule), counted().sources).decide({ posts })).toMatchObject(expected);
  });

  it('is named after what it does', () => {
    expect(
      [firstPosts(1), firstPosts(2), afterHours(1), confidentAt(0.9, [1, 2, 4, 8, 16, 32])].map(({ name }) => name),
    ).toEqual(['first post', 'first 2 posts', 'after 1 h', 'confidence ≥ 0.9, asked at 1, 2, 4, 8, 16, …']);
  });

  it('stops at exactly its confidence', async () => {
    const half = {
      ...counted().sources,
      openDetector: () => async () => ({ label: 'rumor', probabilities: { rumor: 0.75 } }),
    };
    expect(await threadReader(ruleOf(confidentAt(0.75, [1, 2])), half).decide({ posts })).toMatchObject({
      postsUsed: 1,
    });
  });
});

it('queries as planned up to the stop, and at the stop', () => {
  const plan = (lengths: number[], maxPosts = 100) => ({ lengths, maxPosts, actsAt: 'every-post' as const });
  expect(queriesUntil(plan([]), 7)).toBe(1);
  expect(queriesUntil(plan([1, 2, 4, 8]), 4)).toBe(3);
  expect(queriesUntil(plan([1, 2, 4, 8]), 5)).toBe(4);
  expect(queriesUntil(plan([1, 2, 4], 4), 9)).toBe(3);
});

function ruleOf(rule: ReturnType<typeof firstPosts>): PolicyDefinition {
  return {
    task: { name: 'rumor', labels },
    fields: stateFields([rule.field], { labels, posts: null }),
    queries: { lengths: rule.queries, actsAt: 'every-post', maxPosts: 100 },
    threshold: rule.threshold,
    limits: { maxPosts: 100, deadline: rule.deadline },
    score: (states) => states.slice(),
  };
}

function predictionOf({ label, probabilities }: DetectorOutput) {
  return label === null ? null : { label, probabilities };
}
