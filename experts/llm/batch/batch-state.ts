import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { InputError } from '../../../src/errors.ts';
import { jsonOrUndefined } from '../../../src/json.ts';

const batchStateSchema = z.strictObject({
  formatVersion: z.literal(1),
  /** SHA-256 of the requests, so that a folder is never resumed with other ones. */
  requestsHash: z.string(),
  baseURL: z.string(),
  inputFileId: z.string().nullable(),
  batchId: z.string().nullable(),
  /** As the endpoint last told it. */
  status: z.string().nullable(),
});

/** How far a batch has come; after each step it is written, so that the next run goes on from there. */
export type BatchState = z.infer<typeof batchStateSchema>;

export function batchStatePath(directory: string): string {
  return join(directory, 'batch-state.json');
}

/** The state of this batch in the folder, or a fresh one. */
export function readBatchState(options: { directory: string; requestsHash: string; baseURL: string }): BatchState {
  const { directory, requestsHash, baseURL } = options;
  const path = batchStatePath(directory);
  if (!existsSync(path))
    return { formatVersion: 1, requestsHash, baseURL, inputFileId: null, batchId: null, status: null };
  const parsed = batchStateSchema.safeParse(jsonOrUndefined(readFileSync(path, 'utf8')));
  if (!parsed.success)
    throw new InputError(`${path} is damaged; delete it to submit the batch anew:\n${z.prettifyError(parsed.error)}`);
  const state = parsed.data;
  if (state.requestsHash !== requestsHash || state.baseURL !== baseURL)
    throw new InputError(
      `${directory} holds batch ${state.batchId ?? '(not yet submitted)'} of other requests at ${state.baseURL}; ` +
        'give this one a folder of its own, or delete that one',
    );
  return state;
}

export function writeBatchState(options: { directory: string; state: BatchState }): void {
  writeFileAtomically(batchStatePath(options.directory), `${JSON.stringify(options.state, null, 2)}\n`);
}
