import { CallJournal } from '../../../experts/annotations/call-journal.ts';
import { type SharedParts, sharedPartsIn } from '../../../experts/annotations/parts.ts';

/** Keeps parts in a store, and no calls, as for detectors whose judgements are one call. */
export function sharedPartsOf(store: Parameters<typeof sharedPartsIn>[0]['store']): SharedParts {
  const nobody = { chat: () => Promise.reject(new Error('calls go past it')) };
  return sharedPartsIn({ store, calls: new CallJournal({ service: nobody, table: null }) });
}
