import { BadItemError, shortened } from '../bad-item.ts';
import { foldedName } from '../folded-name.ts';
import type { Thread } from '../thread.ts';
import { isNothing, type NothingRules } from './nothing.ts';

/** Folds a thread's ids and labels; empty labels become null. @throws BadItemError for empty or equal ids */
export function foldThread(thread: Thread, rules: NothingRules): Thread {
  const place = `thread ${shortened(thread.id)}`;
  const idOf = (id: string) => {
    const folded = foldedName(id);
    if (folded !== '') return folded;
    throw new BadItemError({ place, value: shortened(id), reason: 'an id must have characters that can be seen' });
  };
  const nameOf = (name: string | null) => (name === null ? null : foldedName(name) || null);
  const posts = thread.posts.map((post) => ({
    ...post,
    id: idOf(post.id),
    author: nameOf(post.author),
    parent: nameOf(post.parent),
  }));
  const ids = new Set<string>();
  for (const [index, { id }] of posts.entries()) {
    if (ids.has(id))
      throw new BadItemError({
        place: `${place} posts.${index}.id`,
        value: shortened(thread.posts[index].id),
        reason: 'looks the same as the id of another post of the thread',
      });
    ids.add(id);
  }
  const labels = Object.entries(thread.labels ?? {}).map(([name, value]) => {
    const folded = typeof value === 'string' ? foldedName(value) : value;
    const isNull = typeof folded === 'string' && isNothing(folded, { column: name, rules });
    return [foldedName(name), isNull ? null : folded];
  });
  return {
    ...thread,
    id: idOf(thread.id),
    event: nameOf(thread.event),
    posts,
    ...(thread.labels !== undefined && { labels: Object.fromEntries(labels) }),
  };
}
