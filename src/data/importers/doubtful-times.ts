import type { Thread } from '../thread.ts';

/** Nobody wrote posts before. */
const firstYear = 1990;

/** Counts times that no post can have: before there were posts, or after `now`. */
export function doubtfulTimes(now: Date | undefined) {
  const first = Date.UTC(firstYear, 0);
  const last = now?.getTime() ?? Number.POSITIVE_INFINITY;
  const early = { count: 0, example: '' };
  const late = { count: 0, example: '' };
  return {
    add({ id, posts }: Pick<Thread, 'id' | 'posts'>): void {
      for (const post of posts) {
        const ms = post.time === null ? first : Date.parse(post.time);
        if (ms >= first && ms <= last) continue;
        const found = ms < first ? early : late;
        if (found.count++ === 0)
          found.example = `${post.time} (post ${JSON.stringify(post.id)} of ${JSON.stringify(id)})`;
      }
    },
    warnings(): string[] {
      const check = 'check how the times are written, because rules and delays in hours read them';
      return [
        ...(early.count === 0
          ? []
          : [`${early.count} times lie before ${firstYear}, such as ${early.example}: ${check}`]),
        ...(late.count === 0 ? [] : [`${late.count} times lie in the future, such as ${late.example}: ${check}`]),
      ];
    },
  };
}
