import type { Guarantee } from './guarantee.ts';
import { sha256Hex } from './manifest.ts';

/*
 * The threads that a guarantee was found on. It holds on them by construction, so audits leave them out: what they show is no evidence.
 */

/** So many digits tell a few thousand threads apart. */
const digits = 16;

/** How a guarantee lists a thread. @param identity hash of its id and claim, as `trained.json` has it */
export function listedIdentity(identity: string): string {
  return identity.slice(0, digits);
}

/** A function that says whether a guarantee was found on a thread; on none where that is not known. */
export function calibratedOn(
  guarantee: Pick<Guarantee, 'calibratedOn'> | null,
): (thread: { readonly id: string; readonly claim: string }) => Promise<boolean> {
  const listed = new Set(guarantee?.calibratedOn ?? []);
  return async ({ id, claim }) => {
    if (listed.size === 0) return false;
    // The keys in the order in which `threadIdentity` hashes them.
    const identity = await sha256Hex(new TextEncoder().encode(JSON.stringify({ claim, id })));
    return listed.has(listedIdentity(identity));
  };
}
