import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launcher } from '../launcher.ts';
import type { RunGroup, ToldOfTrials, TrialOutcome, TrialTask } from './trial.ts';
import { type FromParent, type FromProcess, fromProcessSchema } from './trial-process.ts';
import { type StartTrials, trialsHere } from './trials-here.ts';

export interface TrialPool {
  readonly run: RunGroup;
  /** Ends the processes. Trials that are under way save and end as interrupted. */
  close(): Promise<void>;
}

interface PoolOptions {
  /** Groups of trials that run at the same time. */
  readonly jobs: number;
  readonly signal: AbortSignal;
  readonly onNote: (line: string) => void;
}

/** Runs groups of trials on this machine: a single one at a time in this process, several each in a process of its own. */
export function trialPool({ start, ...options }: PoolOptions & { start: StartTrials }): TrialPool {
  if (options.jobs > 1) return trialProcesses(options);
  return { run: trialsHere({ start, ...options }), close: async () => {} };
}

interface Waiting {
  readonly tasks: readonly TrialTask[];
  /** Of the detectors that the trials learn from. */
  readonly detectorKeys: readonly string[];
  readonly told: ToldOfTrials;
  readonly resolve: (outcomes: readonly TrialOutcome[]) => void;
}

/**
 * Processes of this machine that run groups of trials, `jobs` at a time. They live on between groups, so that data and
 * tables are loaded once. Of groups with the same detector the first goes ahead alone until the detector is trained and has
 * judged; the others then find it in the cache.
 */
export function trialProcesses({ jobs, signal, onNote }: PoolOptions): TrialPool {
  const waiting = waitingGroups();
  const idle: ChildProcess[] = [];
  const busy = new Map<ChildProcess, Waiting>();
  const backends = new Set<string>();
  let isClosed = false;

  function dispatch(): void {
    if (signal.aborted) {
      for (const group of waiting.drain()) resolveAll(group, { how: 'interrupted' });
      return;
    }
    while (busy.size < jobs) {
      const group = waiting.next();
      if (group === undefined) return;
      const child = idle.pop() ?? startProcess();
      busy.set(child, group);
      group.told.onBegun?.();
      say(child, { say: 'run', tasks: [...group.tasks], isWatched: Boolean(group.told.onMeasured) });
    }
  }

  /** The group of this process has ended: it takes no part any more, however it ended. */
  function taken(child: ChildProcess): Waiting | undefined {
    const group = busy.get(child);
    busy.delete(child);
    if (group !== undefined) waiting.leave(group);
    return group;
  }

  function receive(child: ChildProcess, message: FromProcess): void {
    const group = busy.get(child);
    if (group === undefined) return;
    if (message.say === 'note') onNote(message.line);
    else if (message.say === 'measured') group.told.onMeasured?.(message.measured);
    else if (message.say === 'backend') {
      // One process speaks for all of them.
      if (!backends.has(message.line)) onNote(message.line);
      backends.add(message.line);
    } else if (message.say === 'progress') {
      group.told.onProgress?.(message.stage, message.done, message.total, message.note);
      if (message.stage === 'training' && waiting.isPrepared(group)) dispatch();
    } else {
      waiting.isPrepared(group);
      taken(child);
      group.resolve(message.outcomes);
      idle.push(child);
      dispatch();
    }
  }

  function removeEnded(child: ChildProcess, how: TrialOutcome): void {
    const place = idle.indexOf(child);
    if (place >= 0) idle.splice(place, 1);
    const group = taken(child);
    if (group !== undefined) resolveAll(group, signal.aborted || isClosed ? { how: 'interrupted' } : how);
    if (!isClosed) dispatch();
  }

  const startProcess = () => workerProcess({ jobs, onNote, onMessage: receive, onEnd: removeEnded });

  const stopAll = () => {
    for (const child of [...busy.keys(), ...idle]) say(child, { say: 'stop' });
    dispatch();
  };
  signal.addEventListener('abort', stopAll, { once: true });

  return {
    run: (tasks, told = {}) =>
      new Promise((resolve) => {
        const detectorKeys = [...new Set(tasks.flatMap(({ detectorKey }) => detectorKey ?? []))];
        waiting.add({ tasks, detectorKeys, told, resolve });
        dispatch();
      }),
    async close() {
      isClosed = true;
      signal.removeEventListener('abort', stopAll);
      await Promise.all([...idle, ...busy.keys()].map(stopProcess));
    },
  };
}

/** Groups in the order in which they may begin: of those with the same detector the first goes ahead alone until it is prepared. */
function waitingGroups() {
  const queue: Waiting[] = [];
  const ready = new Set<string>();
  const beingPrepared = new Set<string>();
  return {
    add: (group: Waiting) => void queue.push(group),
    drain: () => queue.splice(0),
    next(): Waiting | undefined {
      const index = queue.findIndex(({ detectorKeys }) => !detectorKeys.some((key) => beingPrepared.has(key)));
      const group = index < 0 ? undefined : queue.splice(index, 1)[0];
      for (const key of group?.detectorKeys ?? []) if (!ready.has(key)) beingPrepared.add(key);
      return group;
    },
    /** Call it once the detectors of a group are there. @returns whether others may go ahead now */
    isPrepared({ detectorKeys }: Waiting): boolean {
      const prepared = detectorKeys.filter((key) => beingPrepared.delete(key));
      for (const key of prepared) ready.add(key);
      return prepared.length > 0;
    },
    /** A group that failed before its detectors were there leaves them to the next one. */
    leave({ detectorKeys }: Waiting): void {
      for (const key of detectorKeys) beingPrepared.delete(key);
    },
  };
}

/** A process that runs trials for this one. */
function workerProcess(of: {
  jobs: number;
  onNote: (line: string) => void;
  onMessage: (child: ChildProcess, message: FromProcess) => void;
  onEnd: (child: ChildProcess, how: TrialOutcome) => void;
}): ChildProcess {
  const child = fork(launcher, ['worker', '--parent'], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let isHeapFull = false;
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', (line) => {
      isHeapFull ||= line.includes('heap out of memory');
      of.onNote(line);
    });
  child.on('message', (message) => of.onMessage(child, fromProcessSchema.parse(message)));
  child.on('close', (code, killedBy) => of.onEnd(child, diedOutcome({ code, killedBy, isHeapFull, jobs: of.jobs })));
  return child;
}

/** Asks a process to end, and waits until it has. */
async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  say(child, { say: 'stop' });
  await gone;
}

function resolveAll({ tasks, resolve }: Waiting, outcome: TrialOutcome): void {
  resolve(tasks.map(() => outcome));
}

function say(child: ChildProcess, message: FromParent): void {
  // A process that has just died is told of by its `close`.
  if (child.connected) child.send(message, () => {});
}

function diedOutcome(died: {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  isHeapFull: boolean;
  jobs: number;
}): TrialOutcome {
  const { code, killedBy, isHeapFull, jobs } = died;
  const failed = (severity: 1 | 3, message: string) => ({ how: 'failed', severity, message }) as const;
  // Node's own limit, however much the machine has.
  if (isHeapFull)
    return failed(
      1,
      'its process ran out of the memory that Node lets it take; raise that in megabytes, as in NODE_OPTIONS=--max-old-space-size=8192',
    );
  if (killedBy === null) return failed(3, `its process ended with exit code ${code}`);
  const fewer = jobs > 1 ? ', give fewer --jobs' : ', the machine has too little';
  return failed(1, `its process was ended by ${killedBy}; if memory ran out${fewer}`);
}
