import { type Thread, threadSchema } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';

export function threadOf(options: { id: string; texts: readonly string[]; rumor?: boolean | null }): Thread {
  return threadSchema.parse({
    id: options.id,
    rumor: options.rumor ?? null,
    posts: options.texts.map((text, index) => ({ id: `${options.id}-${index}`, text })),
  });
}

const words = {
  common: ['the', 'people', 'in', 'town', 'say', 'today', 'about', 'street', 'news', 'now'],
  rumor: ['unconfirmed', 'allegedly', 'hoax', 'doubt', 'fake'],
  plain: ['official', 'statement', 'thanks', 'weather', 'game'],
};

/** Threads whose posts mostly, not always, carry a word of their class: separable, but not from one word alone. */
export function toyThreads(options: { count: number; seed: number; posts?: number }): Thread[] {
  const random = Random.seeded({ seed: options.seed, purpose: 'toy threads' });
  const pick = (list: readonly string[]) => list[random.integer(list.length)];
  return Array.from({ length: options.count }, (_, index) => {
    const rumor = index % 2 === 0;
    const texts = Array.from({ length: options.posts ?? 1 + random.integer(6) }, () => {
      const own = random.uniform() < 0.8 === rumor ? words.rumor : words.plain;
      return [pick(words.common), pick(words.common), pick(own), pick(words.common)].join(' ');
    });
    return threadOf({ id: `toy-${options.seed}-${index}`, texts, rumor });
  });
}

/** The thread with a post every so many minutes. */
export function timed(thread: Thread, minutes: number): Thread {
  const timeOf = (post: number) => new Date(Date.UTC(2024, 0, 1, 0, post * minutes)).toISOString();
  return { ...thread, posts: thread.posts.map((post, index) => ({ ...post, time: timeOf(index) })) };
}

/** Threads of 50 posts, each of which says where it stands: `thread 3 post 7`, counted from 1. */
export function numberedThreads(count: number): Thread[] {
  return Array.from({ length: count }, (_, thread) =>
    threadOf({
      id: `thread ${thread + 1}`,
      texts: Array.from({ length: 50 }, (_, post) => `thread ${thread + 1} post ${post + 1}`),
    }),
  );
}
