import { type SparseRow, sparseRow } from '../../../src/regression/sparse-matrix.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { maskHandlesAndUrls, normalizeText } from '../../../src/text/text-scanner.ts';
import type { CueReader, ReadCues } from './cues.ts';

/** A text as classifiers read it, independent of their weights. */
export interface ReadText {
  readonly row: SparseRow;
  readonly cues: ReadCues;
  /** Each word once, in the order of the text; empty unless requested. */
  readonly words: readonly Word[];
}

export interface Word {
  readonly text: string;
  /** The embedding of the word alone. */
  readonly row: SparseRow;
}

const BATCH = 128;
/** Non-zero entries cached, of 8 bytes each. */
const CACHED_TEXT_ENTRIES = 8_000_000;
const CACHED_WORD_ENTRIES = 4_000_000;

/** Words that an explanation may name. Shorter ones explain nothing, or are cues. */
const WORD = /[\p{L}\p{N}_][\p{L}\p{N}_'\u2019]{2,}|[\p{Script=Han}?]|\p{Extended_Pictographic}/gu;
/** The masks of handles and links, and the most common English words of three letters or more. */
const NAMELESS = new Set(
  (
    'user httpurl the and for you your are was were has have had his her its our their they them this that these those ' +
    'with from but will would can could not just about what when who all out get got been being did does than then there'
  ).split(' '),
);

/** Encodes each text and each word once, as long as they fit into the caches. */
export function textReader({ encoder, cues, readsWords }: { encoder: Encoder; cues: CueReader; readsWords: boolean }) {
  const dense = Int32Array.from({ length: encoder.dimensions }, (_, index) => index);
  const entries = ({ row }: { row: SparseRow }) => row.values.length + 16;
  const readTexts = new BoundedCache<ReadText>({ maximumSize: CACHED_TEXT_ENTRIES, sizeOf: entries });
  const readWords = new BoundedCache<Word>({ maximumSize: CACHED_WORD_ENTRIES, sizeOf: entries });

  /** One result per text, in order. */
  async function read(texts: readonly string[]): Promise<ReadText[]> {
    const results = await readTexts.all(texts, readBatch, BATCH);
    return texts.map((text) => results.get(text)!);
  }

  async function readBatch(texts: readonly string[]): Promise<ReadText[]> {
    const wordsOf = texts.map((text) => (readsWords ? distinctWords(text) : []));
    const encodeWords = async (unread: readonly string[]) =>
      (await encode(unread)).map((row, index) => ({ text: unread[index], row }));
    const words = await readWords.all(wordsOf.flat(), encodeWords, BATCH);
    const rows = await encode(texts);
    return texts.map((text, index) => ({
      row: rows[index],
      cues: cues.read(text),
      words: wordsOf[index].map((word) => words.get(word)!),
    }));
  }

  async function encode(texts: readonly string[]): Promise<SparseRow[]> {
    const vectors = await encoder.encode(texts);
    return texts.map((_, index) =>
      sparseRow({ vector: vectors.subarray(index * encoder.dimensions, (index + 1) * encoder.dimensions), dense }),
    );
  }

  return { read };
}

export type TextReader = ReturnType<typeof textReader>;

function distinctWords(text: string): string[] {
  const words = maskHandlesAndUrls(normalizeText(text)).toLowerCase().match(WORD) ?? [];
  return [...new Set(words)].filter((word) => !NAMELESS.has(word));
}

/**
 * Caches values by text, up to a total size, in two generations: when the younger one reaches half of the size, the
 * older one is dropped. Values in use move to the younger one, so a working set that fits stays cached.
 */
export class BoundedCache<Value> {
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();
  private youngSize = 0;
  private readonly maximumSize: number;
  private readonly sizeOf: (value: Value) => number;

  constructor(options: { maximumSize: number; sizeOf: (value: Value) => number }) {
    this.maximumSize = options.maximumSize;
    this.sizeOf = options.sizeOf;
  }

  get(key: string): Value | undefined {
    const recent = this.young.get(key);
    if (recent !== undefined) return recent;
    const aged = this.old.get(key);
    if (aged !== undefined) this.set(key, aged);
    return aged;
  }

  set(key: string, value: Value): void {
    this.old.delete(key);
    if (!this.young.has(key)) this.youngSize += this.sizeOf(value);
    this.young.set(key, value);
    if (2 * this.youngSize <= this.maximumSize) return;
    this.old = this.young;
    this.young = new Map();
    this.youngSize = 0;
  }

  /** The values of these texts. Missing ones are made, `atATime` at a time. */
  async all(
    texts: readonly string[],
    make: (missing: readonly string[]) => Promise<readonly Value[]>,
    atATime = Number.POSITIVE_INFINITY,
  ): Promise<Map<string, Value>> {
    const values = new Map<string, Value>();
    const missing: string[] = [];
    for (const text of new Set(texts)) {
      const held = this.get(text);
      if (held === undefined) missing.push(text);
      else values.set(text, held);
    }
    while (missing.length > 0) {
      const batch = missing.splice(0, atATime);
      for (const [index, value] of (await make(batch)).entries()) {
        values.set(batch[index], value);
        this.set(batch[index], value);
      }
    }
    return values;
  }

  get count(): number {
    return this.young.size + this.old.size;
  }
}
