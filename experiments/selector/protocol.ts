import { closest } from 'fastest-levenshtein';
import { nearDuplicateAt, nearDuplicates } from '../../src/data/near-duplicates.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { SelectorExperiment } from './experiment.ts';

/*
 * What training and tests must not share. Posts of one news event tell each other's veracity by the story they are about, so by
 * default (`protocol: events`) neither an event nor a nearly identical claim is on both sides. With `protocol: ids` only the
 * same threads are kept apart. A test then holds other threads of stories that were trained on, and finding the most similar
 * claim does well: it measures whether a story is known, not whether a rumour is recognised.
 */

export interface TestSet {
  readonly name: string;
  readonly threads: readonly Thread[];
}

/** Counts of training threads that were left out, because a test has the thread, its event, or nearly its claim. */
export interface LeftOut {
  readonly sameThread: number;
  readonly sameEvent: number;
  readonly nearDuplicate: number;
}

export interface DisjointParts {
  readonly train: readonly Thread[];
  readonly tests: readonly TestSet[];
  readonly leftOut: LeftOut;
}

/** Name of the test set with the training file's threads of held-out events. */
export const heldOutEventsName = 'held-out events';

type Protocol = Pick<SelectorExperiment['data'], 'protocol'> & {
  readonly heldOutEvents: readonly string[];
};

/**
 * Separates training and tests.
 * @param options.data.heldOutEvents restricts all tests to these events
 * @throws InputError for an unknown event, or a test whose threads have none
 */
export function disjointParts(
  all: { train: readonly Thread[]; tests: readonly TestSet[] },
  { data, onNote }: { data: Protocol; onNote?: (line: string) => void },
): DisjointParts {
  const tests = testsOf(all, { data, onNote });
  return { tests, ...withoutShared(all.train, { tests, data }) };
}

/** The threads that share nothing with the tests, and the counts of the others. A thread without an event may belong to any. */
export function withoutShared(
  threads: readonly Thread[],
  { tests, data }: { tests: readonly TestSet[]; data: Protocol },
): Pick<DisjointParts, 'train' | 'leftOut'> {
  const tested = tests.flatMap((test) => test.threads);
  const ids = new Set(tested.map(({ id }) => id));
  const others = threads.filter(({ id }) => !ids.has(id));
  const sameThread = threads.length - others.length;
  if (data.protocol === 'ids' || tests.length === 0)
    return { train: others, leftOut: { sameThread, sameEvent: 0, nearDuplicate: 0 } };
  // Events that are held out go, even where no test has a thread of them.
  const events = new Set([...data.heldOutEvents, ...tested.map(({ event }) => event)]);
  const ofOtherEvents = others.filter(({ event }) => event !== null && !events.has(event));
  const duplicates = nearDuplicates(ofOtherEvents, { of: tested, similarity: nearDuplicateAt });
  return {
    train: ofOtherEvents.filter((thread) => !duplicates.has(thread)),
    leftOut: { sameThread, sameEvent: others.length - ofOtherEvents.length, nearDuplicate: duplicates.size },
  };
}

function testsOf(
  { train, tests }: { train: readonly Thread[]; tests: readonly TestSet[] },
  { data, onNote }: { data: Protocol; onNote?: (line: string) => void },
): TestSet[] {
  const { protocol, heldOutEvents } = data;
  if (protocol === 'ids') return [...tests];
  checkEvents([train, ...tests.map(({ threads }) => threads)].flat(), heldOutEvents);
  const events = new Set<string | null>(heldOutEvents);
  if (events.size > 0)
    return [{ name: heldOutEventsName, threads: train }, ...tests]
      .map(({ name, threads }) => ({ name, threads: threads.filter(({ event }) => events.has(event)) }))
      .filter(({ threads }) => threads.length > 0);
  return tests.map(({ name, threads }) => {
    const withEvent = threads.filter(({ event }) => event !== null);
    const unknown = threads.length - withEvent.length;
    if (withEvent.length === 0 && unknown > 0)
      throw new InputError(
        `none of the ${unknown} threads of the test ${name} has an event, so nothing tells whether its stories were trained on; give events, or set data.protocol: ids, which keeps only the same threads apart`,
      );
    if (unknown > 0)
      onNote?.(`${unknown} of ${threads.length} threads of the test ${name} have no event and are not tested`);
    return { name, threads: withEvent };
  });
}

function checkEvents(threads: readonly Thread[], events: readonly string[]): void {
  const existing = new Set(threads.flatMap(({ event }) => event ?? []));
  const missing = events.filter((event) => !existing.has(event));
  if (missing.length === 0) return;
  throw new InputError(
    `no thread has the event ${JSON.stringify(missing[0])} of data.heldOutEvents; ` +
      (existing.size === 0
        ? 'these threads have no events'
        : `did you mean ${closest(missing[0], [...existing])}? Events: ${[...existing].sort().join(', ')}`),
  );
}

export interface EventFold {
  readonly name: string;
  readonly events: readonly string[];
}

/** The fold of events that only test files have. */
const otherEvents = 'other-events';
/** Characters of an event in the name of its fold. */
const longestName = 80;

/**
 * One fold per event of the training file in alphabetical order, and one for events that only tests have. Development
 * events are always trained on and never tested, because settings were chosen by them.
 * @throws InputError for training threads of fewer than two events, or only development events
 */
export function eventFolds(
  { train, tests }: { train: readonly Thread[]; tests: readonly TestSet[] },
  { developmentEvents }: { developmentEvents: readonly string[] },
): EventFold[] {
  const trained = [...new Set(train.flatMap(({ event }) => event ?? []))].sort();
  const development = new Set(developmentEvents);
  const elsewhere = new Set(tests.flatMap(({ threads }) => threads.flatMap(({ event }) => event ?? [])));
  const others = [...elsewhere].filter((event) => !trained.includes(event) && !development.has(event)).sort();
  const folds = [
    ...trained
      .filter((event) => !development.has(event))
      .map((event) => ({ name: event.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, longestName), events: [event] })),
    ...(others.length === 0 ? [] : [{ name: otherEvents, events: others }]),
  ];
  if (trained.length < 2 || folds.length === 0)
    throw new InputError(
      `data.heldOutEvents: each holds out every event but data.developmentEvents and trains on the others; the training threads are of ${['no event', `one event, ${trained[0]}`][trained.length] ?? `development events alone (${trained.join(', ')})`}; give threads of several events, name tests, or take an event out of data.developmentEvents`,
    );
  // Each fold has a folder of its name, and some disks do not tell capitals apart.
  const taken = new Map<string, number>();
  return folds.map(({ name, events }) => {
    const count = (taken.get(name.toLowerCase()) ?? 0) + 1;
    taken.set(name.toLowerCase(), count);
    return { name: count === 1 ? name : `${name}~${count}`, events };
  });
}

export interface TestedAndHeldOut {
  readonly tested: readonly TestSet[];
  readonly heldOut: readonly TestSet[];
}

/**
 * Splits the test sets. Held-out events are tested whole, and settings are chosen by development events. Otherwise a
 * share of all threads is held out (the paper's "Val"), equal for every seed; a thread of several sets is on one side
 * in all.
 */
export function testedAndHeldOut(
  { data, evaluation }: SelectorExperiment,
  tests: readonly TestSet[],
): TestedAndHeldOut {
  const ids = [...new Set(tests.flatMap(({ threads }) => threads.map(({ id }) => id)))];
  const order = Random.seeded({ seed: 0, purpose: 'held-out test threads' }).shuffled(ids);
  const drawn = new Set(order.slice(0, Math.round(evaluation.heldOutShare * ids.length)));
  const development = new Set(data.developmentEvents);
  const isOut = ({ id, event }: Thread) =>
    data.heldOutEvents.length === 0 ? drawn.has(id) : development.has(String(event));
  const part = (side: boolean) =>
    tests
      .map(({ name, threads }) => ({ name, threads: threads.filter((thread) => isOut(thread) === side) }))
      .filter(({ threads }) => data.heldOutEvents.length === 0 || threads.length > 0);
  return { tested: part(false), heldOut: part(true) };
}
