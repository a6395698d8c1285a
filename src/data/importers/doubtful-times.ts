import type { Thread } from '../thread.ts';

/** No post is older. */
const firstYear = 1990;

/** Counts impossible times: before social media, or after `now`. */
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
        const tally = ms < first ? early : late;
        if (tally.count++ === 0)
          tally.example = `${post.time} (post ${JSON.stringify(post.id)} of ${JSON.stringify(id)})`;
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
