import type { Post } from '../../src/data/thread.ts';
import type { Judgement } from '../detector.ts';

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

export type TranscriptEntry = Judgement['transcript'][number];

/** A transcript as it is shown to a model. */
export function dialogueOf(transcript: readonly TranscriptEntry[]): string {
  if (transcript.length === 0) return '(nothing has been said yet)';
  return transcript.map(({ role, text }) => `[${role}]\n${text}`).join('\n\n');
}
