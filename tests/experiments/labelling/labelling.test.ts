import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLabelling } from '../../../experiments/labelling/labelling.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const classes = ['resolved', 'escalated'];
const closings = ['thanks, all works again', 'nobody answers, we want our money back'];
const threads = synthesizeThreads({ threads: 80, seed: 3 }).map((thread, place): Thread => {
  const [claim, ...replies] = thread.posts;
  return { ...thread, rumor: null, posts: [{ ...claim, text: `${claim.text} ${closings[place % 2]}` }, ...replies] };
});
const truth = new Map(threads.map(({ id }, place) => [id, classes[place % 2]]));

/** The ranking after 50 random labels and 10 chosen ones, of which some have the other class. */
async function rankingWith(isTurned: (place: number, chosen: 'random' | 'margin') => boolean) {
  const labelling = openLabelling(threads, {
    ...{ label: 'outcome', classes, seed: 1 },
    labels: join(temporaryFolder(), 'labels.jsonl'),
  });
  const { order, file } = labelling;
  const answer = (thread: string, chosen: 'random' | 'margin') => {
    const right = classes.indexOf(truth.get(thread) ?? '');
    const place = isTurned(order.indexOf(thread), chosen) ? 1 - right : right;
    const time = new Date(0).toISOString();
    file.append({ kind: 'label', thread, class: classes[place], annotator: 'anna', time, chosen, chance: 1 });
  };
  for (const id of order.slice(0, 40)) answer(id, 'random');
  for (const id of order.slice(-10)) answer(id, 'margin');
  for (const id of order.slice(40, 50)) answer(id, 'random');
  return (await labelling.learn())?.ranking;
}

function judgedBy(detectors: readonly string[], sure: Readonly<Record<string, readonly number[]>>): string {
  const path = join(temporaryFolder(), 'judged.sqlite');
  const store = AnnotationStore.open(path);
  const rows = detectors.flatMap((detector) =>
    Object.entries(sure).flatMap(([threadId, margins]) =>
      margins.map((margin, index) => ({
        request: { ...{ detector, version: '1', options: {} }, input: [threadId, index], sampleIndex: 0 },
        judgement: {
          ...{ label: 'resolved', probabilities: { resolved: 0.5 + margin / 2, escalated: 0.5 - margin / 2 } },
          ...{ explanation: '', transcript: [], usage: { requests: 1, inputTokens: 1, outputTokens: 1 } },
        },
        ...{ rawResponse: null, latencyMs: null, threadId, prefixLength: index + 1 },
      })),
    ),
  );
  store.putMany(rows);
  store.close();
  return path;
}

describe('stored judgements', () => {
  const [a, b, c] = threads.map(({ id }) => id);
  const open = (annotations: string) =>
    openLabelling(threads, {
      ...{ label: 'outcome', classes, seed: 1, annotations },
      labels: join(temporaryFolder(), 'labels.jsonl'),
    });

  it('choose by the longest judged prefix, and only threads that they judge', async () => {
    const labelling = open(judgedBy(['judge', 'judge/part'], { [a]: [0, 0.9], [b]: [0.8, 0.1], [c]: [0.5] }));
    const others = labelling.order.filter((id) => ![a, b, c].includes(id));
    for (const [place, thread] of others.slice(0, 10).entries())
      labelling.file.append({
        ...{ kind: 'label', thread, class: classes[place % 2], annotator: 'anna' },
        ...{ time: new Date(0).toISOString(), chosen: 'random', chance: 1 },
      });
    expect((await labelling.learn())?.ranking).toEqual([b, c, a]);
  });

  it('are refused without a store, or by several detectors', () => {
    expect(() => open('missing.sqlite')).toThrow('there is no missing.sqlite');
    expect(() => open(judgedBy(['one', 'two'], { [a]: [0.5] }))).toThrow('has judgements by 2 detectors (one, two)');
  });
});

describe('the score', () => {
  it('counts the classes that have labels', async () => {
    const labels = join(temporaryFolder(), 'labels.jsonl');
    const labelling = openLabelling(threads, { label: 'outcome', classes: [...classes, 'withdrawn'], seed: 1, labels });
    for (const [place, thread] of labelling.order.slice(0, 24).entries())
      labelling.file.append({
        ...{ kind: 'label', thread, class: classes[place % 2], annotator: 'anna', chosen: 'random', chance: 1 },
        time: new Date(0).toISOString(),
      });
    const learnt = await labelling.learn();
    expect(learnt).toMatchObject({ labels: 24, tested: 24, changed: null });
    expect(learnt?.macroF1).toBeGreaterThan(0);
  });
});

describe('the detector that chooses', () => {
  it('learns from the start and from what was chosen by margin, and not from labels that test', async () => {
    const ranking = await rankingWith(() => false);
    expect(ranking?.length).toBeGreaterThan(10);
    expect(await rankingWith((place, chosen) => chosen === 'random' && place >= 48)).toEqual(ranking);
    expect(await rankingWith((place) => place < 5)).not.toEqual(ranking);
    expect(await rankingWith((_, chosen) => chosen === 'margin')).not.toEqual(ranking);
  });

  it('chooses nothing while it disagrees with people', async () => {
    expect(await rankingWith((place, chosen) => chosen === 'random' && place >= 30)).toEqual([]);
  });
});
