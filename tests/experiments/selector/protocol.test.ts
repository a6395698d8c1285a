import { describe, expect, it } from 'vitest';
import { resolveSelectorExperiment } from '../../../experiments/selector/experiment.ts';
import { disjointParts, eventFolds, heldOutEventsName } from '../../../experiments/selector/protocol.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';

function thread(id: string, event: string | null, text = `${id} is ${id}b and ${id}c`): Thread {
  const post = { id, time: null, author: null, parent: null, text, stance: null };
  return { id, event, veracity: 'true', rumor: true, posts: [post] };
}
const ids = (threads: readonly Thread[]) => threads.map(({ id }) => id);
const events = { protocol: 'events', heldOutEvents: [] } as const;

describe('disjointParts', () => {
  const flood = [thread('f1', 'flood'), thread('f2', 'flood')];
  const fire = [thread('x1', 'fire'), thread('x2', 'fire')];
  const storm = [thread('s1', 'storm')];
  const nameless = thread('n1', null);
  const train = [...flood, ...fire, nameless];

  it('takes the tests’ events, threads without an event and near-duplicates out of the training', () => {
    const repeated = thread('x3', 'fire', 'S1 is s1B AND s1c!');
    const tests = [{ name: 'held', threads: [...storm, flood[0]] }];
    const parts = disjointParts({ train: [...train, repeated], tests }, { data: events });
    expect(ids(parts.train)).toEqual(['x1', 'x2']);
    expect(parts.leftOut).toEqual({ sameThread: 1, sameEvent: 2, nearDuplicate: 1 });
    expect(parts.tests).toEqual(tests);
  });

  it('takes only the same threads out where ids alone count', () => {
    const parts = disjointParts(
      { train, tests: [{ name: 'held', threads: [flood[0], nameless] }] },
      { data: { ...events, protocol: 'ids' } },
    );
    expect(ids(parts.train)).toEqual(['f2', 'x1', 'x2']);
    expect(parts.leftOut).toEqual({ sameThread: 2, sameEvent: 0, nearDuplicate: 0 });
  });

  it('tests the events that are held out, in every file, and nothing else', () => {
    const tests = [
      { name: 'other', threads: [thread('o1', 'flood'), thread('o2', 'fire')] },
      { name: 'elsewhere', threads: storm },
    ];
    const parts = disjointParts({ train, tests }, { data: { ...events, heldOutEvents: ['flood'] } });
    expect(parts.tests.map(({ name, threads }) => [name, ids(threads)])).toEqual([
      [heldOutEventsName, ['f1', 'f2']],
      ['other', ['o1']],
    ]);
    expect(ids(parts.train)).toEqual(['x1', 'x2']);
  });

  it('trains on everything where nothing is tested', () => {
    expect(ids(disjointParts({ train, tests: [] }, { data: events }).train)).toEqual(ids(train));
  });

  it('does not test threads without an event, and says so', () => {
    const notes: string[] = [];
    const tests = [{ name: 'held', threads: [...storm, nameless] }];
    const parts = disjointParts({ train, tests }, { data: events, onNote: (line) => notes.push(line) });
    expect(ids(parts.tests[0].threads)).toEqual(['s1']);
    expect(notes).toEqual(['1 of 2 threads of the test held have no event and are not tested']);
    expect(() => disjointParts({ train, tests: [{ name: 'held', threads: [nameless] }] }, { data: events })).toThrow(
      /none of the 1 threads of the test held has an event.*data\.protocol: ids/,
    );
  });

  it('names an event that no thread has', () => {
    const failing = () => disjointParts({ train, tests: [] }, { data: { ...events, heldOutEvents: ['flod'] } });
    expect(failing).toThrow(InputError);
    expect(failing).toThrow(/no thread has the event "flod".*did you mean flood\?/);
  });

  it.each([
    [{ tests: { a: 'a.jsonl' } }, /data\.tests: given without data\.train; name the threads to train on, too/],
    [
      { train: 'a.jsonl', protocol: 'ids', heldOutEvents: 'each' },
      /data\.heldOutEvents: this needs data\.protocol: events, and it is ids/,
    ],
  ])('is refused by the file of the experiment: %#', (data, message) => {
    expect(() => resolveSelectorExperiment({ kind: 'selector', name: 'x', data }, 'x.yaml')).toThrow(message);
  });
});

it('tests files by any name', () => {
  const tests = JSON.parse('{ "__proto__": "a.jsonl", "b": "b.jsonl" }');
  const experiment = { kind: 'selector', name: 'x', data: { train: 'c.jsonl', tests } };
  expect(Object.entries(resolveSelectorExperiment(experiment, 'x.yaml').data.tests)).toEqual(Object.entries(tests));
});

describe('eventFolds', () => {
  const train = [thread('a', 'fire'), thread('b', 'New York'), thread('c', 'flood')];
  const tests = [{ name: 'other', threads: [thread('d', 'fire'), thread('e', 'storm'), thread('f', 'quake')] }];

  it('holds every event out once, and those of the tests alone together', () => {
    expect(eventFolds({ train, tests }, { developmentEvents: [] })).toEqual([
      { name: 'New-York', events: ['New York'] },
      { name: 'fire', events: ['fire'] },
      { name: 'flood', events: ['flood'] },
      { name: 'other-events', events: ['quake', 'storm'] },
    ]);
    expect(eventFolds({ train, tests }, { developmentEvents: ['fire', 'storm'] }).map(({ name }) => name)).toEqual([
      'New-York',
      'flood',
      'other-events',
    ]);
  });

  it('gives every fold a name of its own, however alike events are written', () => {
    const written = ['a b', 'a-b', 'A/B', 'other-events', 'x'.repeat(300), `${'x'.repeat(300)}y`];
    const names = eventFolds(
      { train: written.map((event, index) => thread(`w${index}`, event)), tests },
      { developmentEvents: [] },
    ).map(({ name }) => name);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(written.length + 1);
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThan(100);
    expect(names.slice(0, 3)).toEqual(['A-B', 'a-b~2', 'a-b~3']);
  });

  it('needs two events, and one that is not for development', () => {
    expect(() => eventFolds({ train: train.slice(0, 1), tests }, { developmentEvents: [] })).toThrow(
      'are of one event, fire',
    );
    expect(() => eventFolds({ train, tests: [] }, { developmentEvents: ['fire', 'flood', 'New York'] })).toThrow(
      'are of development events alone (New York, fire, flood); give threads of several events',
    );
  });
});
