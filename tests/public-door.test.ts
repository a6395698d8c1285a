import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
// Nothing but the public door: this is what another program can do.
import {
  AnnotationStore,
  annotate,
  buildStopProblem,
  createStopAgent,
  type Detector,
  decide,
  decideStops,
  type Encoder,
  embeddingStates,
  type Judgement,
  Random,
  RunDirectory,
  rumorTask,
  type StopMetric,
  type StopPolicy,
  scoreSystem,
  selectBackend,
  splitThreads,
  stopAgentSchema,
  stopMetrics,
  synthesizeThreads,
  type Thread,
  type Trainer,
  testThreads,
  trainInDirectory,
  trainToEnd,
  workContext,
} from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'earshot-door-'));
beforeAll(() => selectBackend('wasm'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Counts words of doubt: a detector of one's own. */
const doubtDetector: Detector = {
  name: 'doubt',
  version: '1',
  options: {},
  labels: rumorTask.labels,
  async judge(prefix): Promise<Judgement> {
    const doubts = prefix.posts.filter(({ text }) => /fake|really\?|proof|doubt|unconfirmed|source/i.test(text)).length;
    const rumor = (1 + doubts) / (2 + prefix.posts.length);
    return {
      label: rumor > 0.5 ? 'rumor' : 'non-rumor',
      probabilities: { rumor, 'non-rumor': 1 - rumor },
      explanation: `${doubts} of ${prefix.posts.length} posts doubt it`,
      transcript: [],
      usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
    };
  },
};

/** How long a text is, and whether it asks: an encoder of one's own. */
const toyEncoder: Encoder = {
  identity: { name: 'toy' },
  dimensions: 2,
  encode: async (texts) => Float32Array.from(texts.flatMap((text) => [text.length / 100, Number(text.includes('?'))])),
};

const threads = synthesizeThreads({ threads: 80, seed: 3 });
const parts = splitThreads(threads, {
  parts: { demonstrations: 30, environment: 20, test: 'rest' },
  seed: 1,
  stratifyBy: (thread) => rumorTask.goldLabel(thread),
});
const tableOf = embeddingStates(toyEncoder);

async function judged(): Promise<Awaited<ReturnType<typeof annotate>>> {
  const store = AnnotationStore.open(join(folder, 'judgements.sqlite'));
  const result = await annotate({ threads: [...parts.demonstrations, ...parts.test], detector: doubtDetector, store });
  store.close();
  return result;
}

it('takes a detector from outside: its judgements are kept, teach an agent, and are not asked twice', async () => {
  // Planted texts may repeat, and with them a question.
  const { sequences, asked, cached } = await judged();
  expect(asked).toBeGreaterThan(100);
  expect(await judged()).toMatchObject({ asked: 0, cached: asked + cached });
  const config = stopAgentSchema.parse({ iterations: 3, imitation: { ppo: { stepsPerIteration: 64 } } });
  const problem = await buildStopProblem({ ...parts, sequences, task: rumorTask, tableOf, config, seed: 1 });
  expect(problem.demonstrations.length).toBeGreaterThan(10);
  const trainer = await createStopAgent({ seed: 1, config, problem });
  await trainToEnd(trainer, workContext());
  const policy = await trainer.policy();
  trainer.dispose();
  const decisions = await decideStops(policy, { threads: parts.test, tableOf });
  expect(decisions.map(({ threadId }) => threadId)).toEqual(parts.test.map(({ id }) => id));
  for (const [index, { stop, stopProbability }] of decisions.entries()) {
    expect(stopProbability).toHaveLength(parts.test[index].posts.length);
    expect(stop.postsUsed).toBeLessThanOrEqual(parts.test[index].posts.length);
  }
});

/** Looks for the best fixed number of posts by drawing some: a trainer of one's own. */
function createFixedStopSearch(options: { seed: number; worthOf: (posts: number) => number }): Trainer<number> {
  let random = Random.seeded({ seed: options.seed, purpose: 'fixed stop' });
  let iteration = 0;
  let best = { posts: 1, worth: options.worthOf(1) };
  return {
    algorithm: 'fixed-stop-search',
    iterations: 6,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const posts = 1 + random.integer(20);
      const worth = options.worthOf(posts);
      if (worth > best.worth) best = { posts, worth };
      iteration++;
      return { 'search/best_worth': best.worth };
    },
    policy: async () => best.posts,
    state: async () => ({ arrays: {}, values: { iteration, best, random: random.state() } }),
    restore({ values }) {
      const saved = values as { iteration: number; best: typeof best; random: number[] };
      iteration = saved.iteration;
      best = saved.best;
      random = Random.fromState(saved.random);
    },
    dispose() {},
  };
}

it('takes a trainer from outside: the loop logs it, saves it, stops it and resumes it to the same bytes', async () => {
  const runIn = (name: string) =>
    RunDirectory.create(join(folder, name), {
      config: {},
      facts: { seed: 1, backend: 'none', device: 'processor', hashes: {} },
    });
  const train = async (run: RunDirectory, stopAt: number) => {
    const trainer = createFixedStopSearch({ seed: 4, worthOf: (posts) => -((posts - 7) ** 2) });
    const stop = new AbortController();
    await trainInDirectory(trainer, {
      run,
      identity: 'toy',
      checkpointEvery: 2,
      context: workContext({
        signal: stop.signal,
        onProgress: (_, done) => {
          if (done === stopAt) stop.abort();
        },
      }),
    });
    return trainer.policy();
  };
  const whole = await train(runIn('whole'), Infinity);
  const halved = runIn('halved');
  await train(halved, 3);
  expect(halved.checkpointSteps()).toEqual([2, 3]);
  expect(await train(halved, Infinity)).toBe(whole);
  expect(Math.abs(whole - 7)).toBeLessThan(6);
});

/** The share of decisions that are right within five posts: a metric of one's own. */
const rightWithinFive: StopMetric = {
  name: 'rightWithinFive',
  title: 'right within 5',
  decimals: 3,
  isResampled: true,
  of({ gold, predicted, postsUsed, items = Int32Array.from(gold.keys()) }) {
    const right = Array.from(items).filter((item) => gold[item] === predicted[item] && postsUsed[item] <= 5);
    return right.length / items.length;
  },
};

it('takes a metric from outside: computed from decisions, with an interval', async () => {
  const { sequences } = await judged();
  const tested = testThreads(parts.test, { sequences, task: rumorTask });
  const decisions = decide(
    'third post',
    tested,
    parts.test.map(({ posts }: Thread) => ({ postsUsed: Math.min(3, posts.length), hours: null })),
  );
  const scores = scoreSystem(decisions, {
    labels: rumorTask.labels,
    metrics: [...stopMetrics, rightWithinFive],
    resample: { seed: 1, resamples: 200 },
  });
  // Every decision falls within five posts, so this is the accuracy.
  expect(scores.values.rightWithinFive).toBeCloseTo(scores.values.accuracy ?? Number.NaN, 12);
  const [low, high] = scores.intervals.rightWithinFive;
  expect(low).toBeLessThan(scores.values.rightWithinFive ?? 0);
  expect(high).toBeGreaterThan(scores.values.rightWithinFive ?? 1);
});

it('gives policies as plain arrays that outlive their trainer', async () => {
  const { sequences } = await judged();
  const config = stopAgentSchema.parse({ algorithm: 'exact-policy-gradient', iterations: 5 });
  const problem = await buildStopProblem({ ...parts, sequences, task: rumorTask, tableOf, config, seed: 1 });
  const trainer = await createStopAgent({ seed: 1, config, problem });
  await trainToEnd(trainer, workContext());
  const policy: StopPolicy = await trainer.policy();
  trainer.dispose();
  expect(policy.parameters.w1.rows).toBe(2);
  expect((await decideStops(policy, { threads: parts.test.slice(0, 1), tableOf })).length).toBe(1);
});

it('documents everything that it exports', () => {
  const home = join(import.meta.dirname, '..');
  const door = readFileSync(join(home, 'index.ts'), 'utf8');
  const undocumented = Array.from(door.matchAll(/export (?:type )?\{([^}]*)\} from '([^']*)';/g)).flatMap(
    ([, names, path]) => {
      const source = readFileSync(join(home, path), 'utf8');
      return names
        .split(',')
        .map((name) => name.trim().replace(/^type /, ''))
        .filter((name) => name !== '')
        .filter((name) => !new RegExp(`\\*/\\nexport [\\w* ]*\\b${name}\\b`).test(source))
        .map((name) => `${path}: ${name}`);
    },
  );
  expect(undocumented).toEqual([]);
});
