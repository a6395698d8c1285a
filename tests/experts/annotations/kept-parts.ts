import { KeptCalls, type KeptParts } from '../../../experts/annotations/kept-calls.ts';

/** Keeps parts in a store, and no calls, as for detectors whose judgements are one call. */
export function keptPartsIn(store: ConstructorParameters<typeof KeptCalls>[0]['store']): KeptParts {
  const nobody = { chat: () => Promise.reject(new Error('calls go past it')) };
  return new KeptCalls({ service: nobody, store, table: null });
}
