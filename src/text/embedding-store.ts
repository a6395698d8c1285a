import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../atomic-file.ts';
import { canonicalJson, sha256 } from '../content-hash.ts';
import { InputError } from '../errors.ts';
import type { SqliteFile, SqliteForm } from '../sqlite-file.ts';
import type { Encoder } from './encoder.ts';

/** Texts between two saves, which an interruption can cost. Fixed, so that batches are the same everywhere. */
const CHUNK_TEXTS = 512;

export interface EmbeddingProgress {
  /** Texts encoded so far, out of the `total` that were missing. */
  readonly done: number;
  readonly total: number;
}

const form: SqliteForm = {
  name: 'embedding store',
  applicationId: 0x4541524d,
  version: 1,
  tables: 'CREATE TABLE embedding (key TEXT PRIMARY KEY, vector BLOB NOT NULL)',
  otherVersion: 'delete it, and its texts are encoded again',
  damaged: 'delete it, and its texts are encoded again',
};

const rowSchema = z.object({
  key: z.string(),
  vector: z.instanceof(ArrayBuffer).transform((bytes) => new Float32Array(bytes)),
});

/**
 * Embeddings by encoder identity and text, each text encoded once. They are in `<directory>/<hash of the
 * identity>.sqlite`, which many processes may read and write. The file is open during a call only.
 */
export class EmbeddingStore {
  /** Identifies the encoder's vectors: a SHA-256 of its identity, in hexadecimal. */
  readonly identityHash: string;
  private readonly encoder: Encoder;
  private readonly path: string;
  private lastCall: Promise<unknown> = Promise.resolve();

  private constructor({ encoder, directory }: { encoder: Encoder; directory: string }) {
    this.encoder = encoder;
    this.identityHash = sha256({ dimensions: encoder.dimensions, identity: encoder.identity });
    this.path = join(directory, `${this.identityHash.slice(0, 16)}.sqlite`);
  }

  /** Opens the store of an encoder. @throws InputError for a folder or a file that is unusable */
  static async open(options: { encoder: Encoder; directory: string }): Promise<EmbeddingStore> {
    makeFolder(options.directory);
    const store = new EmbeddingStore(options);
    await store.within(() => undefined);
    return store;
  }

  /** Length of a vector. */
  get dimensions(): number {
    return this.encoder.dimensions;
  }

  /** Everything that can change a vector. */
  get encoderIdentity(): Encoder['identity'] {
    return this.encoder.identity;
  }

  /**
   * The vectors of texts; missing ones are encoded and saved first.
   * @returns row-major `[texts.length, dimensions]`
   * @throws InputError if the disk refuses or the encoder returns a number that is not finite
   */
  embed(
    texts: readonly string[],
    { onProgress }: { onProgress?: ((progress: EmbeddingProgress) => void) | undefined } = {},
  ): Promise<Float32Array> {
    // One call after another: two at once would encode shared texts twice.
    const result = this.lastCall.then(() => this.within((file) => this.embedIn(file, { texts, onProgress })));
    this.lastCall = result.catch(() => undefined);
    return result;
  }

  private async embedIn(
    file: SqliteFile,
    of: { texts: readonly string[]; onProgress: ((progress: EmbeddingProgress) => void) | undefined },
  ): Promise<Float32Array> {
    const placesOf = new Map<string, number[]>();
    for (const [place, text] of of.texts.entries()) {
      const key = textKey(text);
      const places = placesOf.get(key);
      if (places === undefined) placesOf.set(key, [place]);
      else places.push(place);
    }
    const keys = [...placesOf.keys()];
    const vectors = new Float32Array(of.texts.length * this.dimensions);
    const put = (key: string, vector: Float32Array) => {
      for (const place of placesOf.get(key) ?? []) vectors.set(vector, place * this.dimensions);
      placesOf.delete(key);
    };
    for (let start = 0; start < keys.length; start += CHUNK_TEXTS) {
      const sql = 'SELECT key, vector FROM embedding WHERE key IN (SELECT value FROM json_each(?))';
      const chunk = JSON.stringify(keys.slice(start, start + CHUNK_TEXTS));
      for (const { key, vector } of file.read(sql, [chunk], rowSchema)) put(key, vector);
    }
    const missing = Array.from(placesOf, ([key, [place]]) => ({ key, text: of.texts[place] }));
    for (let done = 0; done < missing.length; ) {
      const chunk = missing.slice(done, done + CHUNK_TEXTS);
      const encoded = await this.encoded(chunk.map(({ text }) => text));
      const vectorOf = (index: number) => encoded.subarray(index * this.dimensions, (index + 1) * this.dimensions);
      file.transaction(() => {
        for (const [index, { key }] of chunk.entries()) {
          const { buffer, byteOffset, byteLength } = vectorOf(index);
          const bytes = new Uint8Array(buffer, byteOffset, byteLength);
          file.write('INSERT OR IGNORE INTO embedding VALUES (?, ?)', key, bytes);
        }
      });
      for (const [index, { key }] of chunk.entries()) put(key, vectorOf(index));
      done += chunk.length;
      of.onProgress?.({ done, total: missing.length });
    }
    return vectors;
  }

  private async encoded(texts: readonly string[]): Promise<Float32Array> {
    const vectors = await this.encoder.encode(texts);
    const { dimensions } = this;
    if (vectors.length !== texts.length * dimensions)
      throw new Error(
        `the encoder returned ${vectors.length} numbers for ${texts.length} texts of ${dimensions} dimensions`,
      );
    const bad = vectors.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw new InputError(
        `the encoder ${canonicalJson(this.encoder.identity)} returned ${vectors[bad]} for the text ` +
          `${JSON.stringify(texts[Math.floor(bad / dimensions)])}; its model is broken or of too low a precision`,
      );
    return vectors;
  }

  private async within<T>(work: (file: SqliteFile) => T | Promise<T>): Promise<T> {
    // Loaded on demand, because most commands encode nothing.
    const { SqliteFile: File } = await import('../sqlite-file.ts');
    const file = new File(this.path, form);
    try {
      return await work(file);
    } finally {
      file.close();
    }
  }
}

/** Hashed as UTF-16: in UTF-8, texts that were cut inside different surrogate pairs would be equal. */
function textKey(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22);
}
