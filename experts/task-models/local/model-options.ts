import { z } from 'zod';
import { englishCueReader } from './cues.ts';

const languages = { english: englishCueReader, none: null };

/** What the two local task models share, beside their classifiers. */
export const localModelOptionsSchema = z.strictObject({
  cues: z
    .enum(['english', 'none'])
    .default('english')
    .describe('expressions of support, denial and doubt that are known before any training'),
  explanationWords: z.int().min(0).max(20).default(5).describe('most words an explanation names; 0 gives none'),
});

export function cueReaderOf(cues: keyof typeof languages) {
  return languages[cues];
}
