import type { Post } from '../../src/data/thread.ts';
import type { Judgement } from '../detector.ts';

/**
 * The posts in order, one numbered line each. A longer prefix only adds lines, so its prompt begins like the shorter
 * one's, and a server with a prompt cache reads only the rest.
 */
export function numberedPosts(posts: readonly Pick<Post, 'text'>[]): string {
  return posts.map(({ text }, index) => `${index + 1}. ${oneLine(text)}`).join('\n');
}

/** A text on one line, so that a post cannot pass for two. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}

export type TranscriptEntry = Judgement['transcript'][number];

/** A transcript in the form in which a model reads it. */
export function dialogueOf(transcript: readonly TranscriptEntry[]): string {
  if (transcript.length === 0) return '(nothing has been said yet)';
  return transcript.map(({ role, text }) => `[${role}]\n${text}`).join('\n\n');
}
