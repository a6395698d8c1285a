import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sweptKindOf, type TrialTask } from './swept-kind.ts';
import { type FromParent, type FromProcess, fromProcessSchema, type TrialEnd } from './trial-process.ts';

/** What became of a trial. */
export type TrialOutcome =
  | { readonly how: TrialEnd }
  | {
      readonly how: 'failed';
      /** As exit codes go: 1 the user's input, 2 a provider, 3 a defect. */
      readonly severity: 1 | 2 | 3;
      readonly message: string;
    };

/** Runs a trial somewhere, to its end. It never throws for what goes wrong in a trial. */
export type RunTrial = (
  task: TrialTask,
  told?: { onProgress?: (stage: string, done: number, total: number) => void },
) => Promise<TrialOutcome>;

export interface TrialPool {
  readonly run: RunTrial;
  /** Ends the processes. Trials that are under way save and end as interrupted. */
  close(): Promise<void>;
}

interface Waiting {
  readonly task: TrialTask;
  readonly detectorKey: string | null;
  readonly onProgress: ((stage: string, done: number, total: number) => void) | undefined;
  readonly resolve: (outcome: TrialOutcome) => void;
}

const launcher = fileURLToPath(new URL('../cli/earshot.mjs', import.meta.url));

/**
 * Processes of this machine that run trials, `jobs` at a time. They live on between trials, so that data and tables are
 * loaded once. Of trials with the same detector the first goes ahead alone until the detector is trained and has judged; the
 * others then find it in the cache.
 */
export function trialPool(options: { jobs: number; onNote: (line: string) => void; signal: AbortSignal }): TrialPool {
  const { jobs, onNote, signal } = options;
  const queue: Waiting[] = [];
  const ready = new Set<string>();
  const beingPrepared = new Set<string>();
  const idle: ChildProcess[] = [];
  const busy = new Map<ChildProcess, Waiting>();
  let isClosed = false;

  function next(): Waiting | undefined {
    const index = queue.findIndex(({ detectorKey }) => detectorKey === null || !beingPrepared.has(detectorKey));
    return index < 0 ? undefined : queue.splice(index, 1)[0];
  }

  function dispatch(): void {
    if (signal.aborted) {
      for (const { resolve } of queue.splice(0)) resolve({ how: 'interrupted' });
      return;
    }
    while (busy.size < jobs) {
      const trial = next();
      if (trial === undefined) return;
      const { detectorKey } = trial;
      if (detectorKey !== null && !ready.has(detectorKey)) beingPrepared.add(detectorKey);
      const child = idle.pop() ?? startProcess();
      busy.set(child, trial);
      say(child, { say: 'run', task: trial.task });
    }
  }

  function isPrepared({ detectorKey }: Waiting): void {
    if (detectorKey === null || !beingPrepared.delete(detectorKey)) return;
    ready.add(detectorKey);
    dispatch();
  }

  function ended(child: ChildProcess, outcome: TrialOutcome): void {
    const trial = busy.get(child);
    if (trial === undefined) return;
    busy.delete(child);
    // A trial that failed before its detector was there leaves that to the next one.
    if (trial.detectorKey !== null) beingPrepared.delete(trial.detectorKey);
    trial.resolve(outcome);
  }

  function startProcess(): ChildProcess {
    const child = fork(launcher, ['worker', '--parent'], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', onNote);
    child.on('message', (message) => {
      const said: FromProcess = fromProcessSchema.parse(message);
      const trial = busy.get(child);
      if (trial === undefined) return;
      if (said.say === 'note') onNote(said.line);
      else if (said.say === 'progress') {
        trial.onProgress?.(said.stage, said.done, said.total);
        if (said.stage === 'training') isPrepared(trial);
      } else {
        if (said.say === 'failed' && said.severity === 3 && said.stack !== null) onNote(said.stack);
        isPrepared(trial);
        ended(
          child,
          said.say === 'ended' ? { how: said.how } : { how: 'failed', severity: said.severity, message: said.message },
        );
        idle.push(child);
        dispatch();
      }
    });
    child.on('close', (code, killedBy) => {
      const place = idle.indexOf(child);
      if (place >= 0) idle.splice(place, 1);
      ended(child, signal.aborted || isClosed ? { how: 'interrupted' } : diedOutcome(code, killedBy));
      if (!isClosed) dispatch();
    });
    return child;
  }

  const stopAll = () => {
    for (const child of [...busy.keys(), ...idle]) say(child, { say: 'stop' });
    dispatch();
  };
  signal.addEventListener('abort', stopAll, { once: true });

  return {
    run: (task, { onProgress } = {}) =>
      new Promise((resolve) => {
        const { detectorKey } = sweptKindOf(task.kind, 'the trial').resolve(task.config, 'the trial');
        queue.push({ task, detectorKey, onProgress, resolve });
        dispatch();
      }),
    async close() {
      isClosed = true;
      signal.removeEventListener('abort', stopAll);
      const alive = [...idle, ...busy.keys()].filter(
        ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
      );
      await Promise.all(
        alive.map((child) => {
          const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
          say(child, { say: 'stop' });
          return gone;
        }),
      );
    },
  };
}

function say(child: ChildProcess, message: FromParent): void {
  // A process that has just died is told of by its `close`.
  if (child.connected) child.send(message, () => {});
}

function diedOutcome(code: number | null, killedBy: NodeJS.Signals | null): TrialOutcome {
  if (killedBy === null) return { how: 'failed', severity: 3, message: `its process ended with exit code ${code}` };
  return {
    how: 'failed',
    severity: 1,
    message: `its process was ended by ${killedBy}; if memory ran out, give fewer --jobs`,
  };
}
