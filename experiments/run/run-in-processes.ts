import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { z } from 'zod';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { severityOf } from './severity.ts';

/** The error that ended a worker process. */
const failureSchema = z.object({
  say: z.literal('failed'),
  /** As exit codes go: 1 the user's input, 2 a provider, 3 a defect. */
  severity: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  message: z.string(),
});
type Failure = z.infer<typeof failureSchema>;

/** How the work of a worker stands, for a terminal that shows all of them. */
const progressSchema = z.object({
  say: z.literal('progress'),
  title: z.string(),
  stage: z.string(),
  done: z.number(),
  total: z.number(),
  note: z.string().optional(),
});
const measuredSchema = z.object({
  say: z.literal('measured'),
  title: z.string(),
  measured: z.record(z.string(), z.number()),
});
const endedSchema = z.object({ say: z.literal('ended'), title: z.string() });
const watchedSchema = z.discriminatedUnion('say', [progressSchema, measuredSchema, endedSchema]);
/** What a worker tells of its work while it goes on. */
export type WatchedWork = z.infer<typeof watchedSchema>;
const messageSchema = z.discriminatedUnion('say', [failureSchema, ...watchedSchema.options]);

/**
 * Runs the trials in several processes, each of which takes every `jobs`-th; the command line of a worker is `worker`.
 * Lines that workers write to stderr come out here.
 * @throws the error of the worker that failed worst, with the text of each different failure once
 */
export async function runInProcesses(options: {
  jobs: number;
  worker: (share: { index: number; of: number }) => readonly string[];
  signal: AbortSignal;
  stderr: Pick<Writable, 'write'>;
  /** Of workers that were told that somebody watches. */
  onWork?: (work: WatchedWork) => void;
}): Promise<void> {
  const { jobs, worker, signal, stderr, onWork = () => {} } = options;
  const ended = await Promise.all(
    Array.from({ length: jobs }, (_, index) => runWorker(worker({ index, of: jobs }), { signal, stderr, onWork })),
  );
  const failures = ended.filter((failure) => failure !== null);
  if (signal.aborted || failures.length === 0) return;
  const texts = [...new Set(failures.map(({ message }) => message))];
  const isCommon = failures.length === jobs && texts.length === 1;
  const others = `${failures.length} of ${jobs} worker processes failed. Run again to go on`;
  // What ends every process alike would have ended a single one, too.
  const message = isCommon ? texts[0] : `${texts.join('\n')}\n${others}`;
  const worst = Math.max(...failures.map(({ severity }) => severity));
  if (worst === 1) throw new InputError(message);
  if (worst === 2) throw new ProviderError(message);
  throw new WorkerDefect(message);
}

/** A defect in a worker. The stack is the worker's; that of this process would say nothing. */
class WorkerDefect extends Error {
  override readonly name = 'WorkerDefect';

  constructor(message: string) {
    super(message);
    this.stack = message;
  }
}

/** Null when the worker succeeded. */
function runWorker(
  command: readonly string[],
  options: { signal: AbortSignal; stderr: Pick<Writable, 'write'>; onWork: (work: WatchedWork) => void },
): Promise<Failure | null> {
  const { signal, stderr, onWork } = options;
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  // Not SIGINT: the terminal sends that to the worker as well, and a second one would end it before it has saved.
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => stderr.write(`${line}\n`));
  let told: Failure | null = null;
  child.on('message', (message) => {
    const said = messageSchema.parse(message);
    if (said.say === 'failed') told = said;
    else onWork(said);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      signal.removeEventListener('abort', stop);
      resolve(code === 0 ? null : (told ?? failureOfExit(code, killedBy)));
    });
  });
}

/** The failure of a worker that ended without saying why. */
function failureOfExit(code: number | null, killedBy: NodeJS.Signals | null): Failure {
  if (killedBy !== null)
    return {
      say: 'failed',
      severity: 1,
      message: `a worker process was ended by ${killedBy}; if memory ran out, give fewer --jobs`,
    };
  return {
    say: 'failed',
    severity: code === 1 || code === 2 ? code : 3,
    message: `a worker process ended with exit code ${code}; what it wrote stands above`,
  };
}

/** Whether this process is a worker of another one, which speaks to the user. */
export function hasParent(): boolean {
  return process.send !== undefined;
}

/**
 * For a worker: sends the error that ends it to the parent, which prints it once for all workers.
 * Returns false where there is no parent to tell; the caller then has to report the error itself.
 */
export async function tellParent(error: unknown): Promise<boolean> {
  if (process.send === undefined) return false;
  const severity = severityOf(error);
  const text = error instanceof Error ? (severity === 3 ? (error.stack ?? error.message) : error.message) : `${error}`;
  const failure: Failure = { say: 'failed', severity, message: text };
  await new Promise<void>((resolve) => process.send?.(failure, undefined, undefined, () => resolve()));
  return true;
}

/** For a worker that is watched: tells the parent how a piece of work stands. */
export function watchedByParent(
  title: string,
): Required<Pick<WorkContext, 'onProgress' | 'onMeasured'>> & { done: () => void } {
  const tell = (work: WatchedWork) => void process.send?.(work, undefined, undefined, () => {});
  return {
    onProgress: (stage, done, total, note) => tell({ say: 'progress', title, stage, done, total, note }),
    onMeasured: (measured) => tell({ say: 'measured', title, measured }),
    done: () => tell({ say: 'ended', title }),
  };
}
