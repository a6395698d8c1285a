import type { Judgement } from '../detector.ts';

export type TranscriptEntry = Judgement['transcript'][number];

/** A transcript as it is shown to a model. */
export function dialogueOf(transcript: readonly TranscriptEntry[]): string {
  if (transcript.length === 0) return '(nothing has been said yet)';
  return transcript.map(({ role, text }) => `[${role}]\n${text}`).join('\n\n');
}
