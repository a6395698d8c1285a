import { sha256 } from '../content-hash.ts';
import type { Thread } from './thread.ts';

/** Names a thread by its id and claim, so that it is recognised when further replies have come or labels are gone. */
export function threadIdentity({ id, posts: [claim] }: Pick<Thread, 'id' | 'posts'>): string {
  return sha256({ id, claim: claim.text });
}
