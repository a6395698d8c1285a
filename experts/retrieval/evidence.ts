import { DomUtils, parseDocument } from 'htmlparser2';
import { z } from 'zod';
import type { Post } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { cosine, embedTexts } from './text-similarity.ts';
import { splitSentences } from './text-spans.ts';

/** A text from outside the thread, with its publication date. */
const evidenceSchema = z.object({
  title: z.string(),
  url: z.string(),
  text: z.string(),
  date: z.string().nullable().describe('day as YYYY-MM-DD, in UTC; null where the source gives none'),
});
export type Evidence = z.infer<typeof evidenceSchema>;

export const cutoffSchema = z
  .strictObject({
    date: z.iso
      .date({ error: 'must be a day such as 2018-03-31' })
      .nullable()
      .default(null)
      .describe('last day of evidence for every thread; null: from the day of its claim'),
    daysBeforeClaim: z.int().min(0).default(1).describe('how many days before the claim the last day of evidence is'),
    undatedClaims: z
      .enum(['fail', 'no-retrieval'])
      .default('fail')
      .describe('a claim without a time: an error, or no evidence'),
  })
  .prefault({})
  .describe('evidence from later days is not used');

/**
 * The last day of evidence, as YYYY-MM-DD in UTC; `none` for no evidence at all.
 * @throws InputError if the claim has no time and `undatedClaims` is `fail`
 */
export function cutoffOf(claim: Post, options: z.output<typeof cutoffSchema>): string | 'none' {
  if (options.date !== null) return options.date;
  if (claim.time !== null)
    return new Date(Date.parse(claim.time) - options.daysBeforeClaim * 86_400_000).toISOString().slice(0, 10);
  if (options.undatedClaims === 'no-retrieval') return 'none';
  throw new InputError(
    `post ${claim.id} has no time, so it is unknown which evidence is older than it; give retrieval.cutoff.date ` +
      '(a future day, if leaked conclusions do not matter), or set retrieval.cutoff.undatedClaims to no-retrieval',
  );
}

export const chunksSchema = z
  .strictObject({
    threshold: z
      .number()
      .min(-1)
      .max(1)
      .default(0.1)
      .describe('smallest cosine similarity of a chunk to the claim (θ_sim)'),
    topK: z.int().min(1).default(5).describe('most chunks for a claim'),
    maxCharacters: z.int().min(40).default(500).describe('longest chunk; made of whole sentences if they fit'),
  })
  .prefault({})
  .describe('which passages of the evidence a claim is verified with');

export interface Chunk {
  readonly text: string;
  readonly source: Evidence;
}

export interface RetrievedChunk extends Chunk {
  readonly similarity: number;
}

/** Splits evidence into chunks of whole sentences. Only a sentence longer than a chunk is cut. */
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

/** Eq. 9: the chunks most similar to the claim, most similar first, none below the threshold. */
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

/** Cuts a sentence between words if it has spaces; otherwise between characters, but never inside a surrogate pair. */
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

/** The text of a piece of HTML, with white space collapsed. */
export function htmlText(html: string): string {
  return plainText(parseDocument(html));
}

/** The paragraphs of an article's HTML, without tables (info boxes), notes and styles. */
export function htmlParagraphs(html: string): string[] {
  const document = parseDocument(html);
  const asides = (name: string) => ['table', 'style', 'script', 'sup', 'figure'].includes(name);
  for (const aside of DomUtils.getElementsByTagName(asides, document)) DomUtils.removeElement(aside);
  return DomUtils.getElementsByTagName('p', document).map(plainText).filter(Boolean);
}

function plainText(node: Parameters<typeof DomUtils.textContent>[0]): string {
  return DomUtils.textContent(node).replace(/\s+/g, ' ').trim();
}
