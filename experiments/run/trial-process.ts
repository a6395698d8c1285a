import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { trialOutcomeSchema, trialSchema } from './trial.ts';
import { type StartTrials, trialsHere } from './trials-here.ts';

/*
 * The process that trains trials, one after the other, for a parent that speaks to it over Node's channel. What goes over
 * the channel is described here.
 */

const fromParentSchema = z.discriminatedUnion('say', [
  z.object({ say: z.literal('run'), trial: trialSchema, isWatched: z.boolean() }),
  z.object({ say: z.literal('stop') }),
]);
export type FromParent = z.input<typeof fromParentSchema>;

export const fromProcessSchema = z.discriminatedUnion('say', [
  z.object({
    say: z.literal('progress'),
    stage: z.string(),
    done: z.number(),
    total: z.number(),
    note: z.string().optional(),
  }),
  z.object({ say: z.literal('measured'), measured: z.record(z.string(), z.number()) }),
  z.object({ say: z.literal('note'), line: z.string() }),
  z.object({ say: z.literal('backend'), line: z.string() }),
  z.object({ say: z.literal('ended'), outcome: trialOutcomeSchema }),
]);
export type FromProcess = z.input<typeof fromProcessSchema>;

/**
 * Serves the parent until it says stop or is gone.
 * @throws InputError where there is no parent
 */
export async function serveTrials({ start, signal }: { start: StartTrials; signal: AbortSignal }): Promise<void> {
  if (process.send === undefined)
    throw new InputError('--parent is for processes that `earshot` starts itself; give --queue redis://… instead');
  const stop = new AbortController();
  const tell = (message: FromProcess) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  const run = trialsHere({
    start,
    signal: stop.signal,
    onNote: (line) => void tell({ say: 'note', line }),
    onBackend: (line) => void tell({ say: 'backend', line }),
  });
  let last: Promise<unknown> = Promise.resolve();

  signal.addEventListener('abort', () => stop.abort(), { once: true });
  await new Promise<void>((resolve) => {
    process.on('message', (message) => {
      const order = fromParentSchema.parse(message);
      if (order.say === 'stop') {
        stop.abort();
        resolve();
        return;
      }
      last = run(order.trial, {
        onProgress: (stage, done, total, note) => void tell({ say: 'progress', stage, done, total, note }),
        onMeasured: order.isWatched ? (measured) => void tell({ say: 'measured', measured: { ...measured } }) : null,
      }).then((outcome) => tell({ say: 'ended', outcome }));
    });
    // A parent that was killed starts its trials anew; two processes must not write the same run.
    process.on('disconnect', () => process.exit(0));
  });
  await last;
  process.disconnect?.();
}
