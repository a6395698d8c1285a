import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agreement, openLabelFile } from '../../../experiments/labelling/label-file.ts';
import { threadsWithLabels } from '../../../experiments/labelling/labelling.ts';
import { labelSession } from '../../../experiments/labelling/session.ts';
import { rumorTask, taskOfLabel } from '../../../src/data/task.ts';
import { isFairTest } from '../../../src/data/thread.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';

const classes = ['resolved', 'escalated'];
const head = { label: 'outcome', classes, seed: 1 };
const order = Array.from({ length: 60 }, (_, index) => `t${index}`);

/** Minutes after some midnight. */
const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes));

function opened(path = join(temporaryFolder(), 'labels.jsonl')) {
  let minutes = 0;
  return {
    path,
    wait: (more: number) => {
      minutes += more;
    },
    session: (annotator = 'anna') =>
      labelSession({ file: openLabelFile(path, head), order, annotator, now: () => at(minutes) }),
    answers: () => openLabelFile(path, head).answers(),
  };
}

const resolved = { kind: 'label', class: 'resolved' } as const;
const escalated = { kind: 'label', class: 'escalated' } as const;

/** Labels so many threads. */
function label(
  session: ReturnType<typeof labelSession>,
  count: number,
  answer: typeof resolved | typeof escalated = resolved,
) {
  return Array.from({ length: count }, () => {
    const thread = session.current([])?.thread ?? '';
    session.answer(thread, answer);
    return thread;
  });
}

describe('a session', () => {
  it('shows a thread until it is answered, also after a crash', () => {
    const { session, path } = opened();
    const shown = session().current([]);
    expect(shown).toMatchObject({ thread: 't0', chosen: 'random', chance: 1 / 60 });
    expect(session().current([])?.thread).toBe('t0');
    session().answer('t0', resolved);
    expect(session().current([])?.thread).toBe('t1');
    const line = readFileSync(path, 'utf8').split('\n')[2];
    expect(JSON.parse(line)).toEqual({
      kind: 'label',
      thread: 't0',
      class: 'resolved',
      annotator: 'anna',
      time: at(0).toISOString(),
      chosen: 'random',
      chance: 1 / 60,
    });
  });

  it.each([
    ['anna', 'bob'],
    ['bob', 'anna'],
  ])(
    'shows a thread that two take at the same time to the one who is first in the file: %s before %s',
    (one, other) => {
      const { path, session } = opened();
      const file = openLabelFile(path, head);
      // The other takes a thread between this one's choice and its record.
      let taken: string | undefined;
      const append = (record: Parameters<typeof file.append>[0]) => {
        taken ??= session(one).current([])?.thread;
        file.append(record);
      };
      const late = labelSession({ file: { ...file, append }, order, annotator: other, now: () => at(0) });
      expect(late.current([])?.thread).toBe('t1');
      expect(taken).toBe('t0');
      expect(session(one).current([])?.thread).toBe('t0');
    },
  );

  it('shows a thread again that was taken back, also where somebody else has labelled it', () => {
    const { session, path } = opened();
    label(session('anna'), 1);
    const record = {
      thread: 't0',
      class: 'escalated',
      annotator: 'bob',
      time: at(0).toISOString(),
      chosen: 'again',
      chance: 1,
    };
    appendFileSync(path, `${JSON.stringify({ kind: 'label', ...record })}\n`);
    session('anna').undo();
    expect(session('anna').current([])).toMatchObject({ thread: 't0', chosen: 'random', chance: 1 / 60 });
  });

  it('ignores an answer to what is not in sight, such as a form that is sent twice', () => {
    const { session, answers } = opened();
    const own = session();
    own.current([]);
    own.answer('t0', resolved);
    own.answer('t0', escalated);
    own.answer('t9', escalated);
    expect([...answers().classOf]).toEqual([['t0', 'resolved']]);
  });

  it('takes answers back one by one, and shows their threads again', () => {
    const { session, answers } = opened();
    const own = session();
    own.undo();
    label(own, 3);
    own.undo();
    own.undo();
    expect([...answers().classOf.keys()]).toEqual(['t0']);
    expect(own.current([])?.thread).toBe('t1');
    own.answer('t1', escalated);
    expect(answers().all.at(-1)).toMatchObject({ thread: 't1', chosen: 'random', chance: 1 / 59 });
    expect(own.current([])?.thread).toBe('t2');
    expect([...answers().classOf]).toEqual([
      ['t0', 'resolved'],
      ['t1', 'escalated'],
    ]);
  });

  it('passes over what is skipped, shows it to others, and counts what nobody can tell as answered', () => {
    const { session, answers } = opened();
    const own = session();
    own.current([]);
    own.answer('t0', { kind: 'skip' });
    own.current([]);
    own.answer('t1', { kind: 'cannot-tell' });
    expect(own.current([])?.thread).toBe('t2');
    expect([...answers().classOf]).toEqual([['t1', null]]);
    expect(session('bob').current([])?.thread).toBe('t0');
  });

  it('shows two annotators different threads, until one has left', () => {
    const { session, wait } = opened();
    const [anna, bob] = [session('anna'), session('bob')];
    expect([anna.current([])?.thread, bob.current([])?.thread]).toEqual(['t0', 't1']);
    wait(11);
    label(bob, 1);
    expect(bob.current([])?.thread).toBe('t0');
    expect(bob.current([])?.thread).toBe('t0');
  });

  it('asks one thread in twenty again, of others where there are some, and not one that was skipped', () => {
    const { session, answers } = opened();
    const threads = label(session(), 19);
    expect(new Set(threads).size).toBe(19);
    const again = session().current([]);
    // The last ten of the nineteen are not asked.
    expect(again).toMatchObject({ chosen: 'again', chance: 1 / 9 });
    expect(threads.slice(0, 9)).toContain(again?.thread);
    session().answer(again?.thread ?? '', { kind: 'skip' });
    const other = session().current([]);
    expect(other?.chosen).toBe('again');
    expect(other?.thread).not.toBe(again?.thread);
    session().answer(other?.thread ?? '', escalated);
    expect(answers().classOf.get(other?.thread ?? '')).toBe('escalated');
    expect(agreement(answers())).toEqual({ threads: 1, kappa: 0 });
    label(session('bob'), 19);
    const ofBob = session('bob').current([]);
    expect(ofBob?.chosen).toBe('again');
    expect(threads).toContain(ofBob?.thread);
  });

  it('ends where nothing is open', () => {
    const own = labelSession({
      ...{ file: openLabelFile(opened().path, head), order: ['a'] },
      annotator: 'x',
      now: () => at(0),
    });
    expect(own.current([])?.thread).toBe('a');
    own.answer('a', resolved);
    expect(own.current([])).toBeNull();
  });
});

describe('a label file', () => {
  it('loses no record where a crash cut off a line', () => {
    const { session, path, answers } = opened();
    label(session(), 2);
    appendFileSync(path, '{"kind":"label","thread":"t2","cla');
    label(session(), 1);
    expect([...answers().classOf.keys()]).toEqual(['t0', 't1', 't2']);
  });

  it('reads the first of two heads', () => {
    const { path, answers } = opened();
    openLabelFile(path, head);
    const record = { kind: 'label', thread: 't0', class: 'resolved', annotator: 'anna', time: at(0).toISOString() };
    appendFileSync(path, `${JSON.stringify({ ...head, seed: 2 })}\n`);
    appendFileSync(path, `${JSON.stringify({ ...record, chosen: 'random', chance: 0.5 })}\n`);
    expect([...answers().classOf]).toEqual([['t0', 'resolved']]);
    expect(openLabelFile(path, { label: 'outcome', seed: 3 })).toMatchObject(head);
  });

  it('says which line is none, and what it holds', () => {
    const { path } = opened();
    openLabelFile(path, head);
    appendFileSync(path, '{"kind":"label","thread":"t2","class":"closed"}\n');
    expect(() => openLabelFile(path, head).answers()).toThrow(`${path}:2 is no label of resolved, escalated: {"kind"`);
    expect(() => openLabelFile(path, { ...head, label: 'tone' })).toThrow(
      `${path} begins with {"label":"outcome","classes":["resolved","escalated"],"seed":1}; it must be a file of \`earshot label\` with labels of tone and the classes`,
    );
    const folder = temporaryFolder({ 'other.jsonl': '{"id":"a"}\n' });
    expect(() => openLabelFile(join(folder, 'other.jsonl'), head)).toThrow(
      'begins with {"id":"a"}; it must be a file of `earshot label` with labels of outcome and the classes resolved, escalated',
    );
    expect(() => openLabelFile(join(folder, 'new.jsonl'), { label: 'tone', seed: 1 })).toThrow(
      'give them, such as --classes',
    );
  });
});

describe('threads with their labels', () => {
  it('mark as random the beginning of the order, whatever labelled it, up to the first that nobody answered', () => {
    const file = openLabelFile(join(temporaryFolder(), 'labels.jsonl'), head);
    const add = (
      thread: string,
      own: string | null,
      chosen: 'random' | 'margin',
      kind: 'label' | 'skip' | 'cannot-tell' = 'label',
    ) => file.append({ kind, thread, class: own, annotator: 'anna', time: at(0).toISOString(), chosen, chance: 1 });
    add('a', 'resolved', 'random');
    add('b', 'escalated', 'margin');
    add('c', null, 'random', 'skip');
    add('d', null, 'random', 'cannot-tell');
    add('e', 'resolved', 'random');
    add('g', 'escalated', 'margin');
    const threads = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => makeThread(id, { rumor: null }));
    const task = taskOfLabel({ name: 'outcome', labels: classes });
    const labelled = threadsWithLabels(threads, {
      answers: file.answers(),
      order: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      task,
    });
    expect(labelled.map(({ id, labels, chosen }) => [id, labels?.outcome, chosen])).toEqual([
      ['a', 'resolved', 'random'],
      ['b', 'escalated', 'random'],
      ['c', undefined, undefined],
      ['d', undefined, undefined],
      ['e', 'resolved', 'random'],
      ['f', undefined, undefined],
      ['g', 'escalated', 'margin'],
    ]);
    expect(labelled.filter(isFairTest)).toHaveLength(6);
  });

  it('are the start where they chose others, once as many random ones follow', () => {
    const chosenOf = (sample: number, byMargin: number) => {
      const file = openLabelFile(join(temporaryFolder(), 'labels.jsonl'), head);
      const labelled = (thread: string, chosen: 'random' | 'margin') =>
        file.append({
          ...{ kind: 'label', thread, class: 'resolved', annotator: 'anna' },
          time: at(0).toISOString(),
          ...{ chosen, chance: 1 },
        });
      const many = Array.from({ length: 80 }, (_, index) => `t${index}`);
      for (const id of many.slice(0, 40)) labelled(id, 'random');
      for (const id of many.slice(80 - byMargin)) labelled(id, 'margin');
      for (const id of many.slice(40, sample)) labelled(id, 'random');
      const threads = threadsWithLabels(
        many.map((id) => makeThread(id, { rumor: null })),
        { answers: file.answers(), order: many, task: taskOfLabel({ name: 'outcome', labels: classes }) },
      );
      return ['start', 'random', 'margin'].map((chosen) => threads.filter((thread) => thread.chosen === chosen).length);
    };
    expect(chosenOf(59, 5)).toEqual([0, 59, 5]);
    expect(chosenOf(60, 5)).toEqual([30, 30, 5]);
    expect(chosenOf(60, 0)).toEqual([0, 60, 0]);
    expect(isFairTest({ chosen: 'start' })).toBe(false);
  });

  it('have the known labels in their own fields', () => {
    const file = openLabelFile(join(temporaryFolder(), 'labels.jsonl'), {
      label: 'rumor',
      classes: ['non-rumor', 'rumor'],
      seed: 1,
    });
    for (const [thread, own] of Object.entries({ a: 'rumor', b: 'non-rumor' }))
      file.append({
        kind: 'label',
        thread,
        class: own,
        annotator: 'x',
        time: at(0).toISOString(),
        chosen: 'random',
        chance: 1,
      });
    const threads = ['a', 'b'].map((id) => makeThread(id, { rumor: null }));
    const labelled = threadsWithLabels(threads, {
      answers: file.answers(),
      order: ['a', 'b'],
      task: rumorTask,
    });
    expect(labelled.map(({ rumor }) => rumor)).toEqual([true, false]);
  });
});
