import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { trialOutcomeSchema, trialSchema } from './trial.ts';
import { type StartTrials, trialsHere } from './trials-here.ts';

/*
 * The process that trains trials, one after the other or on xla together, for a parent that tells it on standard input. What either
 * says is described here; of several trials, each is told by its folder.
 */

const fromParentSchema = z.discriminatedUnion('say', [
  z.object({ say: z.literal('run'), trial: trialSchema }),
  z.object({ say: z.literal('stop') }),
]);
export type FromParent = z.input<typeof fromParentSchema>;

export const fromProcessSchema = z.discriminatedUnion('say', [
  z.object({
    say: z.literal('progress'),
    directory: z.string(),
    stage: z.string(),
    done: z.number(),
    total: z.number(),
    note: z.string().optional(),
  }),
  z.object({ say: z.literal('note'), line: z.string() }),
  z.object({ say: z.literal('ended'), directory: z.string(), outcome: trialOutcomeSchema }),
]);
export type FromProcess = z.input<typeof fromProcessSchema>;

/** Serves the parent until it says stop or is gone. */
export async function serveTrials(
  { start, signal }: { start: StartTrials; signal: AbortSignal },
  { stdin, stdout }: { stdin: Readable; stdout: Writable },
): Promise<void> {
  const stop = new AbortController();
  const tell = (message: FromProcess) => void stdout.write(`${JSON.stringify(message)}\n`);
  const run = trialsHere({
    start,
    signal: stop.signal,
    onNote: (line) => tell({ say: 'note', line }),
  });
  let all: Promise<unknown> = Promise.resolve();
  signal.addEventListener('abort', () => stop.abort(), { once: true });
  for await (const line of createInterface({ input: stdin })) {
    const order = fromParentSchema.parse(JSON.parse(line));
    if (order.say === 'stop') {
      stop.abort();
      await all;
      stdin.destroy();
      return;
    }
    const { directory } = order.trial;
    const ended = run(order.trial, {
      onProgress: (stage, done, total, note) => tell({ say: 'progress', directory, stage, done, total, note }),
    }).then((outcome) => tell({ say: 'ended', directory, outcome }));
    all = Promise.all([all, ended]);
  }
  // A parent that was killed starts its trials anew; two processes must not write the same run.
  process.exit(0);
}
