import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
// What another program gets wrong, through the public door.
import {
  AnnotationStore,
  annotate,
  buildStopProblem,
  type Detector,
  decide,
  embeddingStates,
  InputError,
  rumorTask,
  splitThreads,
  stopAgentSchema,
  synthesizeThreads,
  type Task,
  testThreads,
  trainLocalDetector,
  veracityTask,
} from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'earshot-refusals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const threads = synthesizeThreads({ threads: 4, seed: 3 });
const [thread] = threads;
const right = {
  label: 'rumor',
  probabilities: { rumor: 0.7, 'non-rumor': 0.3 },
  explanation: '',
  transcript: [],
  usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
};

let stores = 0;
async function annotated(told: unknown, labels: readonly string[] = rumorTask.labels) {
  const store = AnnotationStore.open(join(folder, `${++stores}.sqlite`));
  // What somebody without types, or with a cast, gives.
  const judge = (async () => told) as Detector['judge'];
  const detector: Detector = { name: 'own', version: '1', options: {}, labels, judge };
  try {
    return await annotate({ threads, detector, store });
  } finally {
    store.close();
  }
}

it.each([
  ['a label that is none', { ...right, label: 'Rumour' }, 'the label "Rumour" is none of "non-rumor", "rumor"'],
  ['no label', { ...right, label: undefined }, '→ at label'],
  ['NaN', { ...right, probabilities: { rumor: Number.NaN, 'non-rumor': 0.5 } }, '→ at probabilities.rumor'],
  [
    'a sum of 3',
    { ...right, probabilities: { rumor: 1, 'non-rumor': 0.9 } },
    'the probabilities add up to 1.9, not to 1',
  ],
  ['a label less', { ...right, probabilities: { rumor: 1 } }, 'there are probabilities of "rumor", and the labels are'],
  ['one more', { ...right, probabilities: { rumor: 0.5, 'non-rumor': 0.3, other: 0.2 } }, '"non-rumor", "other", and'],
  ['no probabilities at all', { ...right, probabilities: undefined }, '→ at probabilities'],
  ['no usage', { ...right, usage: undefined }, '→ at usage'],
  ['a bare label', 'rumor', 'expected object, received string'],
  ['nothing', undefined, 'expected object, received undefined'],
])("stores nothing of a detector's judgement with %s", async (_, told, problem) => {
  const failed = annotated(told);
  await expect(failed).rejects.toThrow(InputError);
  await expect(failed).rejects.toThrow('the detector own said of the first ');
  await expect(failed).rejects.toThrow(problem);
});

it('takes probabilities that were rounded', async () => {
  const { asked } = await annotated({ ...right, probabilities: { rumor: 0.67, 'non-rumor': 0.32 } });
  expect(asked).toBeGreaterThan(4);
});

it("refuses judgements with the task's labels in another order, or with more of them: every score would be of other labels", async () => {
  const config = stopAgentSchema.parse({});
  const tableOf = embeddingStates({
    identity: {},
    dimensions: 1,
    encode: async (texts) => new Float32Array(texts.length),
  });
  for (const labels of [rumorTask.labels.toReversed(), [...rumorTask.labels, 'unsure']]) {
    const { sequences } = await annotated({ ...right, probabilities: null }, labels);
    const wrong = `was judged with the labels ${labels.join(', ')}, and those of the task rumor are non-rumor, rumor`;
    expect(() => testThreads(threads, { sequences, task: rumorTask })).toThrow(wrong);
    const parts = { demonstrations: threads, environment: threads };
    await expect(buildStopProblem({ ...parts, sequences, task: rumorTask, tableOf, config, seed: 1 })).rejects.toThrow(
      wrong,
    );
  }
});

it.each([-1, 2, Number.NaN])('refuses a task that gives the label %d', async (label) => {
  const task: Task = { ...rumorTask, name: 'mine', goldLabel: () => label };
  const { sequences } = await annotated(right);
  const wrong = `the task mine gives thread "${thread.id}" the label ${label}; it must be an index into non-rumor, rumor (0 to 1), or null`;
  expect(() => testThreads(threads, { sequences, task })).toThrow(wrong);
  await expect(trainLocalDetector({ threads, task, seed: 1 })).rejects.toThrow(wrong);
});

it.each([
  ['too many numbers', (texts: readonly string[]) => new Float32Array(texts.length * 3), ' × 2 = '],
  ['too few', (texts: readonly string[]) => new Float32Array(texts.length), ' × 2 = '],
  [
    'NaN',
    (texts: readonly string[]) => new Float32Array(texts.length * 2).fill(Number.NaN),
    'there is NaN among the embeddings',
  ],
])('refuses an encoder that gives %s', async (_, encode, problem) => {
  const tableOf = embeddingStates({ identity: {}, dimensions: 2, encode: async (texts) => encode(texts) });
  const built = tableOf(threads);
  await expect(built).rejects.toThrow(InputError);
  await expect(built).rejects.toThrow(problem);
});

it.each([0, 0.5, Number.NaN, 1000])('refuses a rule that stops after %d posts', async (postsUsed) => {
  const { sequences } = await annotated(right);
  const tested = testThreads(threads, { sequences, task: rumorTask });
  expect(() =>
    decide(
      'mine',
      tested,
      threads.map(() => ({ postsUsed, hours: null })),
    ),
  ).toThrow(
    `mine stops in thread "${thread.id}" after ${postsUsed} posts; it must be a whole number from 1 to ${thread.posts.length}`,
  );
  expect(() => decide('mine', tested, [{ postsUsed: 1, hours: null }])).toThrow(
    'mine stops in 1 threads, and 4 are tested',
  );
});

it("stratifies by a task's labels, as the documentation of splits says", () => {
  const parts = splitThreads(threads, { parts: { test: 'rest' }, seed: 1, stratifyBy: veracityTask.goldLabel });
  expect(parts.test).toHaveLength(threads.length);
});
