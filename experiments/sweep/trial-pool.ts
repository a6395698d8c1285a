import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sweptKindOf, type TrialTask } from '../kinds/swept-kind.ts';
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

/**
 * Runs trials of one shape somewhere, to their end, and tells what became of each. It never throws for what goes wrong in a
 * trial.
 */
export type RunGroup = (
  tasks: readonly TrialTask[],
  told?: { onProgress?: (stage: string, done: number, total: number) => void },
) => Promise<readonly TrialOutcome[]>;

export interface TrialPool {
  readonly run: RunGroup;
  /** Ends the processes. Trials that are under way save and end as interrupted. */
  close(): Promise<void>;
}

interface Waiting {
  readonly tasks: readonly TrialTask[];
  /** Of the detectors that the trials learn from. */
  readonly detectorKeys: readonly string[];
  readonly onProgress: ((stage: string, done: number, total: number) => void) | undefined;
  readonly resolve: (outcomes: readonly TrialOutcome[]) => void;
}

const launcher = fileURLToPath(new URL('../cli/earshot.mjs', import.meta.url));

/**
 * Processes of this machine that run groups of trials, `jobs` at a time. They live on between groups, so that data and
 * tables are loaded once. Of groups with the same detector the first goes ahead alone until the detector is trained and has
 * judged; the others then find it in the cache.
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
    const index = queue.findIndex(({ detectorKeys }) => !detectorKeys.some((key) => beingPrepared.has(key)));
    return index < 0 ? undefined : queue.splice(index, 1)[0];
  }

  function dispatch(): void {
    if (signal.aborted) {
      for (const group of queue.splice(0)) resolveAll(group, { how: 'interrupted' });
      return;
    }
    while (busy.size < jobs) {
      const group = next();
      if (group === undefined) return;
      for (const key of group.detectorKeys) if (!ready.has(key)) beingPrepared.add(key);
      const child = idle.pop() ?? startProcess();
      busy.set(child, group);
      say(child, { say: 'run', tasks: [...group.tasks] });
    }
  }

  function isPrepared({ detectorKeys }: Waiting): void {
    const prepared = detectorKeys.filter((key) => beingPrepared.delete(key));
    if (prepared.length === 0) return;
    for (const key of prepared) ready.add(key);
    dispatch();
  }

  /** The group of this process has ended: it takes no part any more, however it ended. */
  function taken(child: ChildProcess): Waiting | undefined {
    const group = busy.get(child);
    busy.delete(child);
    // A group that failed before its detectors were there leaves them to the next one.
    for (const key of group?.detectorKeys ?? []) beingPrepared.delete(key);
    return group;
  }

  function startProcess(): ChildProcess {
    const child = fork(launcher, ['worker', '--parent'], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', onNote);
    child.on('message', (message) => {
      const said: FromProcess = fromProcessSchema.parse(message);
      const group = busy.get(child);
      if (group === undefined) return;
      if (said.say === 'note') onNote(said.line);
      else if (said.say === 'progress') {
        group.onProgress?.(said.stage, said.done, said.total);
        if (said.stage === 'training') isPrepared(group);
      } else {
        if (said.say === 'failed' && said.severity === 3 && said.stack !== null) onNote(said.stack);
        isPrepared(group);
        taken(child);
        if (said.say === 'ended') group.resolve(said.hows.map((how) => ({ how })));
        else resolveAll(group, { how: 'failed', severity: said.severity, message: said.message });
        idle.push(child);
        dispatch();
      }
    });
    child.on('close', (code, killedBy) => {
      const place = idle.indexOf(child);
      if (place >= 0) idle.splice(place, 1);
      const group = taken(child);
      const outcome = signal.aborted || isClosed ? ({ how: 'interrupted' } as const) : diedOutcome(code, killedBy);
      if (group !== undefined) resolveAll(group, outcome);
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
    run: (tasks, { onProgress } = {}) =>
      new Promise((resolve) => {
        const keys = tasks.map(
          ({ kind, config }) => sweptKindOf(kind, 'the trial').resolve(config, 'the trial').detectorKey,
        );
        const detectorKeys = [...new Set(keys.filter((key) => key !== null))];
        queue.push({ tasks, detectorKeys, onProgress, resolve });
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

function resolveAll({ tasks, resolve }: Waiting, outcome: TrialOutcome): void {
  resolve(tasks.map(() => outcome));
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
