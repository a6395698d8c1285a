import { z } from 'zod';
import type { Encoder } from '../../src/text/encoder.ts';
import { cosine } from './cosine.ts';
import { embedTexts } from './embed-texts.ts';
import type { Evidence } from './evidence.ts';
import { splitSentences } from './sentences.ts';

export const chunksSchema = z
  .strictObject({
    threshold: z
      .number()
      .min(-1)
      .max(1)
      .default(0.1)
      .describe('cosine similarity to the claim asked of a chunk (θ_sim)'),
    topK: z.int().min(1).default(5).describe('at most so many chunks a claim'),
    maxCharacters: z.int().min(40).default(500).describe('longest chunk; whole sentences where they fit'),
  })
  .prefault({})
  .describe('what of the evidence a claim is verified with');

export interface Chunk {
  readonly text: string;
  readonly source: Evidence;
}

export interface RetrievedChunk extends Chunk {
  readonly similarity: number;
}

/** Cuts the evidence into chunks of whole sentences; only a sentence that is longer than a chunk is cut itself. */
export function splitIntoChunks(evidence: readonly Evidence[], options: { maxCharacters: number }): Chunk[] {
  return evidence.flatMap((source) => {
    const chunks: string[] = [];
    for (const sentence of splitSentences(source.text).flatMap(({ text }) => cut(text, options.maxCharacters))) {
      const last = chunks.at(-1);
      if (last !== undefined && last.length + 1 + sentence.length <= options.maxCharacters)
        chunks[chunks.length - 1] = `${last} ${sentence}`;
      else chunks.push(sentence);
    }
    return chunks.map((text) => ({ text, source }));
  });
}

/** Eq. 9: the chunks most like the claim, none below the threshold, the likest first. */
export async function retrieveChunks(options: {
  claim: string;
  chunks: readonly Chunk[];
  encoder: Encoder;
  threshold: number;
  topK: number;
}): Promise<RetrievedChunk[]> {
  const { claim, chunks, encoder, threshold, topK } = options;
  if (chunks.length === 0) return [];
  const [query, ...vectors] = await embedTexts({ encoder, texts: [claim, ...chunks.map(({ text }) => text)] });
  return chunks
    .map((chunk, index) => ({ ...chunk, similarity: cosine(query, vectors[index]) }))
    .filter(({ similarity }) => similarity >= threshold)
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, topK);
}

/** Between words where there are blanks; elsewhere between characters, never inside a surrogate pair. */
function cut(sentence: string, maxCharacters: number): string[] {
  const pieces: string[] = [];
  let rest = sentence;
  while (rest.length > maxCharacters) {
    const blank = rest.lastIndexOf(' ', maxCharacters);
    let end = blank > maxCharacters / 2 ? blank : maxCharacters;
    if (/[\uD800-\uDBFF]/.test(rest[end - 1])) end--;
    pieces.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return rest === '' ? pieces : [...pieces, rest];
}
