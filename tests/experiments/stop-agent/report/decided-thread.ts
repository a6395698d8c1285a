import type { PlacedDecision } from '../../../../experiments/stop-agent/report/read-runs.ts';

/** A thread of ten posts that is rightly decided at its first, but for what a test says. */
export function decidedThread(own: Partial<PlacedDecision>): PlacedDecision {
  const usual = { system: 'stop agent', threadId: 't', gold: 0, predicted: 0, postsUsed: 1, posts: 10, hours: 0 };
  return { ...usual, queries: 1, event: null, ...own };
}
