import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launcher } from '../launcher.ts';
import type { RunTrial, Trial, TrialOutcome, TrialWatch } from './trial.ts';
import { type FromParent, type FromProcess, fromProcessSchema } from './trial-process.ts';
import { type StartTrials, trialsHere } from './trials-here.ts';

export interface TrialPool {
  readonly run: RunTrial;
  /** Ends the processes. Trials that are under way save and end as interrupted. */
  close(): Promise<void>;
}

interface PoolOptions {
  /** Trials that run at the same time. */
  readonly jobs: number;
  readonly signal: AbortSignal;
  readonly onNote: (line: string) => void;
}

/** Runs trials on this machine: a single one at a time in this process, several each in a process of its own. */
export function trialPool({ start, ...options }: PoolOptions & { start: StartTrials }): TrialPool {
  if (options.jobs > 1) return trialProcesses(options);
  return { run: trialsHere({ start, ...options }), close: async () => {} };
}

interface Waiting {
  readonly trial: Trial;
  readonly watch: TrialWatch;
  readonly resolve: (outcome: TrialOutcome) => void;
}

/**
 * Processes of this machine that run trials, `jobs` at a time. They live on between trials, so that data and tables are loaded
 * once. Of trials with the same detector the first goes ahead alone until the detector is trained and has judged; the others
 * then find it in the cache.
 */
export function trialProcesses({ jobs, signal, onNote }: PoolOptions): TrialPool {
  const waiting = waitingTrials();
  const idle: ChildProcess[] = [];
  const busy = new Map<ChildProcess, Waiting>();
  const backends = new Set<string>();
  let isClosed = false;

  function dispatch(): void {
    if (signal.aborted) {
      for (const { resolve } of waiting.drain()) resolve({ how: 'interrupted' });
      return;
    }
    while (busy.size < jobs) {
      const next = waiting.next();
      if (next === undefined) return;
      const child = idle.pop() ?? startProcess();
      busy.set(child, next);
      next.watch.onBegun?.();
      say(child, { say: 'run', trial: next.trial, isWatched: Boolean(next.watch.onMeasured) });
    }
  }

  /** The trial of this process has ended: it takes no part any more, however it ended. */
  function taken(child: ChildProcess): Waiting | undefined {
    const ended = busy.get(child);
    busy.delete(child);
    if (ended !== undefined) waiting.leave(ended);
    return ended;
  }

  function receive(child: ChildProcess, message: FromProcess): void {
    const running = busy.get(child);
    if (running === undefined) return;
    if (message.say === 'note') onNote(message.line);
    else if (message.say === 'measured') running.watch.onMeasured?.(message.measured);
    else if (message.say === 'backend') {
      // One process speaks for all of them.
      if (!backends.has(message.line)) onNote(message.line);
      backends.add(message.line);
    } else if (message.say === 'progress') {
      running.watch.onProgress?.(message.stage, message.done, message.total, message.note);
      if (message.stage === 'training' && waiting.isPrepared(running)) dispatch();
    } else {
      waiting.isPrepared(running);
      taken(child);
      running.resolve(message.outcome);
      idle.push(child);
      dispatch();
    }
  }

  function removeEnded(child: ChildProcess, how: TrialOutcome): void {
    const place = idle.indexOf(child);
    if (place >= 0) idle.splice(place, 1);
    taken(child)?.resolve(signal.aborted || isClosed ? { how: 'interrupted' } : how);
    if (!isClosed) dispatch();
  }

  const startProcess = () => workerProcess({ jobs, onNote, onMessage: receive, onEnd: removeEnded });

  const stopAll = () => {
    for (const child of [...busy.keys(), ...idle]) say(child, { say: 'stop' });
    dispatch();
  };
  signal.addEventListener('abort', stopAll, { once: true });

  return {
    run: (trial, watch = {}) =>
      new Promise((resolve) => {
        waiting.add({ trial, watch, resolve });
        dispatch();
      }),
    async close() {
      isClosed = true;
      signal.removeEventListener('abort', stopAll);
      await Promise.all([...idle, ...busy.keys()].map(stopProcess));
    },
  };
}

/** Trials in the order in which they may begin: of those with the same detector the first goes ahead alone until it is prepared. */
function waitingTrials() {
  const queue: Waiting[] = [];
  const ready = new Set<string>();
  const beingPrepared = new Set<string>();
  return {
    add: (own: Waiting) => void queue.push(own),
    drain: () => queue.splice(0),
    next(): Waiting | undefined {
      const index = queue.findIndex(({ trial: { detectorKey: key } }) => key === null || !beingPrepared.has(key));
      if (index < 0) return undefined;
      const [next] = queue.splice(index, 1);
      const { detectorKey } = next.trial;
      if (detectorKey !== null && !ready.has(detectorKey)) beingPrepared.add(detectorKey);
      return next;
    },
    /** Call it once the detector of a trial is there. @returns whether others may go ahead now */
    isPrepared({ trial: { detectorKey } }: Waiting): boolean {
      if (detectorKey === null || !beingPrepared.delete(detectorKey)) return false;
      ready.add(detectorKey);
      return true;
    },
    /** A trial that failed before its detector was there leaves it to the next one. */
    leave({ trial: { detectorKey } }: Waiting): void {
      if (detectorKey !== null) beingPrepared.delete(detectorKey);
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
