import { describe, expect, it } from 'vitest';
import { decideByText, textBaselines } from '../../../experiments/selector/text-baselines.ts';
import { veracityClasses } from '../../../experts/task-models/task-model.ts';
import type { Post, Thread } from '../../../src/data/thread.ts';

function thread(id: string, veracity: Thread['veracity'], texts: readonly [string, Post['stance']][]): Thread {
  const posts = texts.map(([text, stance], index) => ({
    id: `${id}-${index}`,
    time: null,
    author: null,
    parent: null,
    text,
    stance,
  }));
  return { id, event: 'fire', veracity, rumor: null, posts };
}

const train = [
  thread('a', 'true', [
    ['the bridge is closed', null],
    ['yes i saw it', 'support'],
  ]),
  thread('b', 'false', [
    ['a shark swims in town', null],
    ['no that is wrong', 'deny'],
    ['fake again', 'deny'],
  ]),
  thread('c', 'false', [['a shark eats people', null]]),
  thread('d', 'unverified', [['nobody knows why', null]]),
];
// The selector does not know the last one's label.
const claims = train.map(({ id, veracity }, index) => ({
  threadId: id,
  claim: '',
  posts: [],
  label: index === 3 ? null : veracityClasses.indexOf(veracity ?? 'true'),
}));
const test = {
  name: 'held',
  threads: [
    thread('t', 'true', [
      ['the bridge is closed today', null],
      ['no, wrong', 'support'],
      ['without a label', null],
    ]),
    thread('u', null, [
      ['nobody knows why', null],
      ['xyz', 'deny'],
    ]),
  ],
};

const decisionsOf = (system: (typeof textBaselines)[number], of = { train, claims }) =>
  decideByText({ system, test, part: 'test', ...of });

describe('decideByText', () => {
  it.each([
    ['majority', { t: 'false', 't/t-1': 'deny', 'u/u-1': 'deny' }],
    ['nearest-neighbour', { t: 'true', 't/t-1': 'deny', 'u/u-1': 'deny' }],
    ['tf-idf', { t: 'true', 't/t-1': 'deny', 'u/u-1': expect.any(String) }],
  ] as const)('decides every labelled item by %s', async (system, expected) => {
    const decisions = await decisionsOf(system);
    const named = decisions.map(({ item, prediction }) => [item, prediction]);
    expect(Object.fromEntries(named)).toEqual(expected);
    for (const { probabilities, event } of decisions) {
      expect(Object.values(probabilities ?? {}).reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 9);
      expect(event).toBe('fire');
    }
  });

  it.each(textBaselines)('%s knows only the veracities that the selector knows', async (system) => {
    const unknown = claims.map((claim) => ({ ...claim, label: null }));
    const decisions = await decisionsOf(system, { train, claims: unknown });
    expect(decisions.map(({ place }) => place.task)).toEqual(['stance', 'stance']);
  });
});
