import { join } from 'node:path';
import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';

/*
 * `claims.json`: the claims that a selector was trained on, and which of them it knew the veracity of. Whoever uses the run
 * later needs no more of its data. Texts stay in the data.
 */

const claimsFileName = 'claims.json';

const claimsSchema = z.strictObject({
  formatVersion: z.literal(1),
  claims: z.array(z.strictObject({ threadId: z.string(), label: z.int().nonnegative().nullable() })),
});

export function writeClaims(run: RunDirectory, claims: readonly SelectorClaim[]): void {
  const known = claims.map(({ threadId, label }) => ({ threadId, label }));
  writeJsonFile(join(run.path, claimsFileName), { formatVersion: 1, claims: known });
}

/** The claims, without their texts. */
export function readClaims(run: RunDirectory): SelectorClaim[] {
  return readJsonFile(join(run.path, claimsFileName), claimsSchema).claims.map((known) => ({
    ...known,
    claim: '',
    posts: [],
  }));
}
