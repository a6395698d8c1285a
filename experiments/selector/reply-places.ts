import type { ReplyPlace } from '../../experts/task-models/task-model.ts';
import type { Thread } from '../../src/data/thread.ts';

/** Where each reply of a thread stands. A parent that is not in the thread (it may have been cut off) is not known. */
export function replyPlaces({ posts }: Thread): ReplyPlace[] {
  const [claim, ...replies] = posts;
  const byId = new Map(posts.map((post) => [post.id, post]));
  const depths = new Map<string, number>([[claim.id, 0]]);
  // A loop among parents never reaches the claim, and ends at the number of posts.
  const depthOf = (id: string, steps = 0): number | null => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    const parent = byId.get(id)?.parent ?? null;
    const above = parent === null || steps > posts.length ? null : depthOf(parent, steps + 1);
    if (above === null) return null;
    depths.set(id, above + 1);
    return above + 1;
  };
  return replies.map(({ id, parent, time }) => ({
    parent: parent === null ? null : (byId.get(parent)?.text ?? null),
    depth: depthOf(id),
    minutesSinceClaim:
      time === null || claim.time === null ? null : (Date.parse(time) - Date.parse(claim.time)) / 60_000,
  }));
}
