import { CallJournal } from '../../../experts/annotations/call-journal.ts';
import { type KeptParts, partsKeptIn } from '../../../experts/annotations/parts.ts';

/** Keeps parts in a store, and no calls, as for detectors whose judgements are one call. */
export function keptPartsIn(store: Parameters<typeof partsKeptIn>[0]['store']): KeptParts {
  const nobody = { chat: () => Promise.reject(new Error('calls go past it')) };
  return partsKeptIn({ store, calls: new CallJournal({ service: nobody, table: null }) });
}
