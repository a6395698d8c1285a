import type { Post } from '../../src/data/thread.ts';

/**
 * The posts in order, one numbered line each. A longer prefix only adds lines, so that its prompt begins as the shorter
 * one's and a server that caches prompts reads the rest alone.
 */
export function numberedPosts(posts: readonly Pick<Post, 'text'>[]): string {
  return posts.map(({ text }, index) => `${index + 1}. ${oneLine(text)}`).join('\n');
}

/** A post cannot pretend to be two. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
