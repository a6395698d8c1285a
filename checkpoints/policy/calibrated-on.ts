import type { Guarantee } from './guarantee.ts';
import { sha256Hex } from './manifest.ts';

/* A guarantee holds by construction on its calibration threads, so audits leave them out: they are no evidence. */

/** 16 digits identify one of a few thousand threads. */
const digits = 16;

/** The form of a thread in a guarantee's list. @param identity the thread's hash in `trained.json` */
export function listedIdentity(identity: string): string {
  return identity.slice(0, digits);
}

/** Names a thread by its id and claim, as a run and the reader in Python do: SHA-256 of JSON whose keys are sorted. */
export function claimIdentity({ id, claim }: { readonly id: string; readonly claim: string }): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify({ claim, id })));
}

/** Returns a test whether a guarantee was calibrated on a thread; false for every thread if that is unknown. */
export function calibratedOn(
  guarantee: Pick<Guarantee, 'calibratedOn'> | null,
): (thread: { readonly id: string; readonly claim: string }) => Promise<boolean> {
  const listed = new Set(guarantee?.calibratedOn ?? []);
  return async (thread) => listed.size > 0 && listed.has(listedIdentity(await claimIdentity(thread)));
}
