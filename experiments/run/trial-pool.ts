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

/**
 * Processes of this machine that run trials, `jobs` at a time. They live on between trials, so that data and tables are loaded
 * once. Of trials with the same detector the first goes ahead alone until the detector is trained and has judged; the others
 * then find it in the cache.
 */
export function trialProcesses({ jobs, signal, ...options }: PoolOptions): TrialPool {
  // One process speaks for all of them.
  const onNote = tellingOnce(options.onNote);
  const waiting = waitingTrials();
  const idle: LineProcess[] = [];
  const busy = new Map<LineProcess, WaitingTrial>();
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
      say(child, { say: 'run', trial: next.trial });
    }
  }

  /** The trial of this process has ended: it takes no part any more, however it ended. */
  function taken(child: LineProcess): WaitingTrial | undefined {
    const ended = busy.get(child);
    busy.delete(child);
    if (ended !== undefined) waiting.leave(ended);
    return ended;
  }

  function receive(child: LineProcess, message: FromProcess): void {
    const running = busy.get(child);
    if (running === undefined) return;
    if (message.say === 'note') onNote(message.line);
    else if (message.say === 'progress') {
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
      taken(child)?.resolve(signal.aborted || isClosed ? { how: 'interrupted' } : how);
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
        dispatch();
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
    next(): WaitingTrial | undefined {
      const index = queue.findIndex(({ trial: { detectorKey: key } }) => key === null || !beingPrepared.has(key));
      if (index < 0) return undefined;
      const [next] = queue.splice(index, 1);
      const { detectorKey } = next.trial;
      if (detectorKey !== null && !ready.has(detectorKey)) beingPrepared.add(detectorKey);
      return next;
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
