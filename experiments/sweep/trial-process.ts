import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import type { RunTrials, TrialTask } from '../kinds/swept-kind.ts';
import { hasDecisions } from '../run/decisions-file.ts';
import { severityOf } from '../run/severity.ts';

/*
 * The process that trains the trials of a sweep, one group after the other, for a parent that speaks to it over Node's channel. It
 * keeps data, embeddings and annotations from one trial to the next. What goes over the channel is described here.
 */

export const trialTaskSchema = z.object({
  kind: z.enum(['stop-agent', 'selector']),
  config: z.record(z.string(), z.unknown()),
  seed: z.int(),
  label: z.string(),
  directory: z.string(),
  runs: z.string(),
  pauseAt: z.int().nullable(),
});

export const fromParentSchema = z.discriminatedUnion('say', [
  z.object({ say: z.literal('run'), tasks: z.array(trialTaskSchema).nonempty() }),
  z.object({ say: z.literal('stop') }),
]);
export type FromParent = z.output<typeof fromParentSchema>;

export const fromProcessSchema = z.discriminatedUnion('say', [
  z.object({ say: z.literal('progress'), stage: z.string(), done: z.number(), total: z.number() }),
  z.object({ say: z.literal('note'), line: z.string() }),
  z.object({ say: z.literal('ended'), hows: z.array(z.enum(['finished', 'paused', 'interrupted'])) }),
  z.object({
    say: z.literal('failed'),
    /** As exit codes go: 1 the user's input, 2 a provider, 3 a defect. */
    severity: z.union([z.literal(1), z.literal(2), z.literal(3)]),
    message: z.string(),
    stack: z.string().nullable(),
  }),
]);
export type FromProcess = z.output<typeof fromProcessSchema>;

/** How a trial that has not failed may end. */
export type TrialEnd = Extract<FromProcess, { say: 'ended' }>['hows'][number];

/** @returns how the trial in this folder stands; null while there is something left to do */
export function trialEnd({ directory, pauseAt }: Pick<TrialTask, 'directory' | 'pauseAt'>): TrialEnd | null {
  if (existsSync(join(directory, 'result.json'))) return 'finished';
  return pauseAt !== null && hasDecisions(directory, { developmentAt: pauseAt }) ? 'paused' : null;
}

/**
 * Serves the parent until it says stop or is gone.
 * @throws InputError where there is no parent
 */
export async function serveTrials(signal: AbortSignal): Promise<void> {
  if (process.send === undefined)
    throw new InputError('--parent is for processes that `earshot sweep` starts; give --queue redis://… instead');
  const stop = new AbortController();
  const tell = (message: FromProcess) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  let last: Promise<void> = Promise.resolve();
  let shared: { readonly for: string; readonly run: RunTrials } | null = null;

  async function train(tasks: readonly TrialTask[]): Promise<void> {
    try {
      const [first] = tasks;
      const left = tasks.filter((task) => trialEnd(task) !== 'finished');
      if (left.length > 0) {
        const needs = JSON.stringify([first.kind, first.config.backend, first.runs]);
        if (shared?.for !== needs) {
          const { sweptKindOf } = await import('../kinds/swept-kind.ts');
          shared = { for: needs, run: await sweptKindOf(first.kind, 'the trial').start(first) };
        }
        await shared.run(left, {
          signal: stop.signal,
          onProgress: (stage, done, total) => void tell({ say: 'progress', stage, done, total }),
          onNote: (line) => void tell({ say: 'note', line }),
        });
      }
      await tell({ say: 'ended', hows: tasks.map((task) => trialEnd(task) ?? 'interrupted') });
    } catch (error) {
      const interrupted = stop.signal.aborted && error instanceof Error && error.name === 'AbortError';
      if (interrupted) return tell({ say: 'ended', hows: tasks.map(() => 'interrupted') });
      const severity = severityOf(error);
      const message = error instanceof Error ? error.message : String(error);
      await tell({ say: 'failed', severity, message, stack: error instanceof Error ? (error.stack ?? null) : null });
    }
  }

  signal.addEventListener('abort', () => stop.abort(), { once: true });
  await new Promise<void>((resolve) => {
    process.on('message', (message) => {
      const order = fromParentSchema.parse(message);
      if (order.say === 'run') last = last.then(() => train(order.tasks));
      else {
        stop.abort();
        resolve();
      }
    });
    // A parent that was killed starts its trials anew; two processes must not write the same run.
    process.on('disconnect', () => process.exit(0));
  });
  await last;
  process.disconnect?.();
}
