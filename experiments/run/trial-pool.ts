import { availableParallelism } from 'node:os';
import type { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { type BackendChoice, type backendSchema, selectBackend } from '../../src/tensor/backend.ts';
import { tellingOnce } from './failures.ts';
import { type LineProcess, lineProcess } from './line-processes.ts';
import type { RunTrial, TrialOutcome, WaitingTrial } from './trial.ts';
import { type FromParent, type FromProcess, fromProcessSchema } from './trial-process.ts';
import { failedBy, type StartTrials, trialsHere } from './trials-here.ts';

export interface TrialPool {
  readonly run: RunTrial;
  /** Ends the processes. Trials that are under way save and end as interrupted. */
  close(): Promise<void>;
}

interface PoolOptions {
  /** Processes. */
  readonly jobs: number;
  /** Trials that each of them has at the same time: on xla, they train as one program. */
  readonly atOnce?: number;
  readonly signal: AbortSignal;
  readonly onNote: (line: string) => void;
}

/** Runs trials on this machine: in this process, or in several. */
export function trialPool({ start, ...options }: PoolOptions & { start: StartTrials }): TrialPool {
  if (options.jobs > 1) return trialProcesses(options);
  return { run: trialsHere({ start, ...options }), close: async () => {} };
}

/**
 * Processes of this machine that run trials. They live on between trials, so that data and tables are loaded
 * once. Of trials with the same detector the first goes ahead alone until the detector is trained and has judged; the others
 * then find it in the cache.
 */
export function trialProcesses({ jobs, atOnce = 1, signal, ...options }: PoolOptions): TrialPool {
  // One process speaks for all of them.
  const onNote = tellingOnce(options.onNote);
  const waiting = waitingTrials();
  const idle: LineProcess[] = [];
  /** Their trials by folder. */
  const busy = new Map<LineProcess, Map<string, WaitingTrial>>();
  let isClosed = false;

  function dispatch(): void {
    if (signal.aborted) {
      for (const { resolve } of waiting.drain()) resolve({ how: 'interrupted' });
      return;
    }
    while (busy.size < jobs) {
      const group = waiting.next(atOnce);
      if (group.length === 0) return;
      const child = idle.pop() ?? startProcess();
      busy.set(child, new Map(group.map((one) => [one.trial.directory, one])));
      for (const { trial } of group) say(child, { say: 'run', trial });
    }
  }

  function receive(child: LineProcess, message: FromProcess): void {
    const group = busy.get(child);
    if (group === undefined) return;
    if (message.say === 'note') onNote(message.line);
    else {
      const running = group.get(message.directory);
      if (running === undefined) return;
      if (message.say === 'progress') {
        running.watch.onProgress?.(message.stage, message.done, message.total, message.note);
        if (message.stage === 'training' && waiting.isPrepared(running)) dispatch();
        return;
      }
      waiting.isPrepared(running);
      group.delete(message.directory);
      running.resolve(message.outcome);
      if (group.size === 0) {
        busy.delete(child);
        idle.push(child);
      }
      dispatch();
    }
  }

  function startProcess(): LineProcess {
    const child = lineProcess(['worker', '--parent'], {
      onLine(line) {
        // A library may print something of its own there.
        const { success, data } = fromProcessSchema.safeParse(jsonOrUndefined(line));
        if (success) receive(child, data);
      },
      onNote,
    });
    const removed = (how: TrialOutcome) => {
      const place = idle.indexOf(child);
      if (place >= 0) idle.splice(place, 1);
      const left = busy.get(child)?.values() ?? [];
      busy.delete(child);
      for (const one of left) {
        waiting.leave(one);
        one.resolve(signal.aborted || isClosed ? { how: 'interrupted' } : how);
      }
      if (!isClosed) dispatch();
    };
    child.ended.then(
      () => removed({ how: 'interrupted' }),
      (error) => removed(failedBy(error)),
    );
    return child;
  }

  const stopAll = () => {
    for (const child of [...busy.keys(), ...idle]) say(child, { say: 'stop' });
    dispatch();
  };
  signal.addEventListener('abort', stopAll, { once: true });

  return {
    run: (trial, watch = {}) =>
      new Promise((resolve) => {
        waiting.add({ trial, watch, resolve });
        // Together with those that are added now.
        setImmediate(dispatch);
      }),
    async close() {
      isClosed = true;
      signal.removeEventListener('abort', stopAll);
      const processes = [...idle, ...busy.keys()];
      for (const child of processes) say(child, { say: 'stop' });
      await Promise.allSettled(processes.map(({ ended }) => ended));
    },
  };
}

function say({ tell }: LineProcess, message: FromParent): void {
  tell(JSON.stringify(message));
}

/** Trials in the order in which they may begin: of those with the same detector the first goes ahead alone until it is prepared. */
function waitingTrials() {
  const queue: WaitingTrial[] = [];
  const ready = new Set<string>();
  const beingPrepared = new Set<string>();
  return {
    add: (trial: WaitingTrial) => void queue.push(trial),
    drain: () => queue.splice(0),
    /** Those that wait longest, for one process; none before all of them may begin. */
    next(count: number): WaitingTrial[] {
      const mayBegin = ({ trial: { detectorKey: key } }: WaitingTrial) => key === null || !beingPrepared.has(key);
      const group = queue.filter(mayBegin).slice(0, count);
      if (group.length < Math.min(count, queue.length)) return [];
      for (const one of group) queue.splice(queue.indexOf(one), 1);
      for (const { trial } of group)
        if (trial.detectorKey !== null && !ready.has(trial.detectorKey)) beingPrepared.add(trial.detectorKey);
      return group;
    },
    /** Call it once the detector of a trial is there. @returns whether others may go ahead now */
    isPrepared({ trial: { detectorKey } }: WaitingTrial): boolean {
      if (detectorKey === null || !beingPrepared.delete(detectorKey)) return false;
      ready.add(detectorKey);
      return true;
    },
    /** A trial that failed before its detector was there leaves it to the next one. */
    leave({ trial: { detectorKey } }: WaitingTrial): void {
      if (detectorKey !== null) beingPrepared.delete(detectorKey);
    },
  };
}

/** The values of `backend` in an experiment. */
export type RequestedBackend = z.infer<typeof backendSchema>;

/**
 * How many processes share the trials: as many as the user says, otherwise one per core. One process has a GPU for itself, one makes a
 * single program of all trials on xla, and one queries language models, whose limits of rates hold for a process.
 * @param options.backend null where no trial uses tensors
 */
export async function processesFor(options: {
  trials: number;
  backend: RequestedBackend | null;
  asksModels: boolean;
  jobs: number | undefined;
  /** Starts a backend, and says what it runs on. */
  start?: (backend: RequestedBackend) => Promise<Pick<BackendChoice, 'name' | 'device'>>;
}): Promise<number> {
  const { trials, asksModels, jobs } = options;
  const most = jobs ?? (asksModels || (await isShared(options)) ? 1 : availableParallelism());
  return Math.max(1, Math.min(most, trials));
}

/** Whether one process should have the device. A backend is started only where its name does not tell. */
async function isShared({ backend, start = selectBackend }: Parameters<typeof processesFor>[0]): Promise<boolean> {
  if (backend === null || backend === 'onnx' || backend === 'wasm' || backend === 'cpu') return false;
  const { name, device } = await start(backend);
  return name === 'xla' || device.includes('GPU');
}
