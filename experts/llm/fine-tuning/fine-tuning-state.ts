import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { InputError } from '../../../src/errors.ts';
import { jsonOrUndefined } from '../../../src/json.ts';
import type { FineTuningFile } from './fine-tuning-file.ts';

const fineTuningStateSchema = z.strictObject({
  formatVersion: z.literal(1),
  fileHash: z.string(),
  baseURL: z.string(),
  /** The one that is tuned. */
  model: z.string(),
  epochs: z.number().nullable(),
  fileId: z.string().nullable(),
  jobId: z.string().nullable(),
  /** As the endpoint last told it. */
  status: z.string().nullable(),
  fineTunedModel: z.string().nullable(),
});

/** How far a fine-tuning has come; after each step it is written, so that nothing is paid for twice. */
export type FineTuningState = z.infer<typeof fineTuningStateSchema>;

export interface FineTuningTask {
  readonly file: FineTuningFile;
  readonly baseURL: string;
  readonly model: string;
  readonly epochs: number | null;
}

/** Beside the file; one for each model that learns from it, and for each way to. */
export function fineTuningStatePath({ file, baseURL, model, epochs }: FineTuningTask): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([baseURL, model, epochs]))
    .digest('hex');
  return `${file.path.replace(/\.jsonl$/, '')}-job-${hash.slice(0, 8)}.json`;
}

/** The state of this fine-tuning, or a fresh one. */
export function readFineTuningState(task: FineTuningTask): FineTuningState {
  const { file, baseURL, model, epochs } = task;
  const path = fineTuningStatePath(task);
  const fresh = { formatVersion: 1 as const, fileHash: file.hash, baseURL, model, epochs };
  if (!existsSync(path)) return { ...fresh, fileId: null, jobId: null, status: null, fineTunedModel: null };
  const parsed = fineTuningStateSchema.safeParse(jsonOrUndefined(readFileSync(path, 'utf8')));
  if (!parsed.success)
    throw new InputError(
      `${path} is damaged; look at the endpoint whether it has the job, and delete the file to create the job anew:\n${z.prettifyError(parsed.error)}`,
    );
  const { data: state } = parsed;
  if (state.fileHash !== file.hash || state.baseURL !== baseURL || state.model !== model || state.epochs !== epochs)
    throw new InputError(
      `${path} is the state of another fine-tuning (of ${state.model} at ${state.baseURL}); move it out of the way`,
    );
  return state;
}

export function writeFineTuningState(options: { path: string; state: FineTuningState }): void {
  writeFileAtomically(options.path, `${JSON.stringify(options.state, null, 2)}\n`);
}
