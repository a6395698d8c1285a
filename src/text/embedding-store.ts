import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import stringify from 'safe-stable-stringify';
import { writeFileAtomically } from '../atomic-file.ts';
import { diskError, InputError } from '../errors.ts';
import { type EmbeddingSegment, embeddingSegment, KEY_BYTES } from './embedding-segment.ts';
import type { Encoder } from './encoder.ts';

/** Texts between two saves, which an interruption can cost. Fixed, so that batches are the same everywhere. */
const CHUNK_TEXTS = 512;

export interface EmbeddingProgress {
  /** Texts encoded so far, out of the `total` that were missing. */
  readonly done: number;
  readonly total: number;
}

/**
 * Embeddings by encoder identity and text, each text encoded once. On disk they are in `<directory>/<hash of the
 * identity>/` as `identity.json` and one segment per process that wrote (see `embeddingSegment`).
 */
export class EmbeddingStore {
  /** Identifies the encoder's vectors: a SHA-256 of its identity, in hexadecimal. */
  readonly identityHash: string;
  private readonly encoder: Encoder;
  private readonly folder: string;
  private readonly rows = new Map<string, { readonly storage: EmbeddingSegment; readonly row: number }>();
  private writable: { storage: EmbeddingSegment; rows: number } | null = null;
  private lastCall: Promise<unknown> = Promise.resolve();

  private constructor({ encoder, directory }: { encoder: Encoder; directory: string }) {
    this.encoder = encoder;
    this.identityHash = createHash('sha256').update(describe(encoder)).digest('hex');
    this.folder = join(directory, this.identityHash.slice(0, 16));
  }

  /** Opens the store of an encoder. @throws InputError for a folder that is unusable or of another encoder */
  static async open(options: { encoder: Encoder; directory: string }): Promise<EmbeddingStore> {
    const store = new EmbeddingStore(options);
    await store.load();
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

  /** Number of different texts that have an embedding. */
  get size(): number {
    return this.rows.size;
  }

  /**
   * The vectors of texts; missing ones are encoded and saved first.
   * @returns row-major `[texts.length, dimensions]`
   * @throws InputError if the disk refuses or the encoder returns a number that is not finite
   */
  embed(
    texts: readonly string[],
    options: { onProgress?: ((progress: EmbeddingProgress) => void) | undefined } = {},
  ): Promise<Float32Array> {
    // One call after another: two at once would encode shared texts twice.
    const result = this.lastCall.then(() => this.embedNow(texts, options.onProgress));
    this.lastCall = result.catch(() => undefined);
    return result;
  }

  private async embedNow(
    texts: readonly string[],
    onProgress: ((progress: EmbeddingProgress) => void) | undefined,
  ): Promise<Float32Array> {
    const keys = texts.map(textKey);
    const missing = new Map<string, string>();
    for (const [index, key] of keys.entries()) if (!this.rows.has(key)) missing.set(key, texts[index]);
    const entries = [...missing];
    for (let done = 0; done < entries.length; ) {
      const chunk = entries.slice(done, done + CHUNK_TEXTS);
      await this.encodeAndSave(chunk);
      done += chunk.length;
      onProgress?.({ done, total: entries.length });
    }
    return this.collect(keys);
  }

  private async encodeAndSave(chunk: readonly (readonly [key: string, text: string])[]): Promise<void> {
    const vectors = await this.encoder.encode(chunk.map(([, text]) => text));
    const { dimensions } = this;
    if (vectors.length !== chunk.length * dimensions)
      throw new Error(
        `the encoder returned ${vectors.length} numbers for ${chunk.length} texts of ${dimensions} dimensions`,
      );
    const bad = vectors.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw new InputError(
        `the encoder ${describe(this.encoder)} returned ${vectors[bad]} for the text ` +
          `${JSON.stringify(chunk[Math.floor(bad / dimensions)][1])}; its model is broken or of too low a precision`,
      );
    const { storage, rows } = this.writableSegment();
    try {
      await storage.append({ keys: Buffer.from(chunk.map(([key]) => key).join(''), 'latin1'), vectors });
    } catch (error) {
      // The end of this segment is unknown now. Its whole rows stay readable; later rows go to a new segment.
      this.writable = null;
      const what = `save ${vectors.byteLength} bytes of embeddings in ${this.folder}, where the earlier ones are kept`;
      throw diskError(error, { what });
    }
    for (const [index, [key]] of chunk.entries()) this.rows.set(key, { storage, row: rows + index });
    this.writable = { storage, rows: rows + chunk.length };
  }

  private writableSegment(): { storage: EmbeddingSegment; rows: number } {
    // A name that no other process uses.
    const path = join(this.folder, randomUUID());
    this.writable ??= { storage: embeddingSegment({ path, dimensions: this.dimensions }), rows: 0 };
    return this.writable;
  }

  private async collect(keys: readonly string[]): Promise<Float32Array> {
    const { dimensions } = this;
    const rowsBySegment = new Map<EmbeddingSegment, { row: number; index: number }[]>();
    for (const [index, key] of keys.entries()) {
      const { storage, row } = this.rows.get(key)!;
      const list = rowsBySegment.get(storage);
      if (list === undefined) rowsBySegment.set(storage, [{ row, index }]);
      else list.push({ row, index });
    }
    const result = new Float32Array(keys.length * dimensions);
    for (const [storage, list] of rowsBySegment) {
      list.sort((a, b) => a.row - b.row);
      await storage.read(
        list.map(({ row }) => row),
        (position, vector) => result.set(vector, list[position].index * dimensions),
      );
    }
    return result;
  }

  private async load(): Promise<void> {
    const { folder } = this;
    const path = join(folder, 'identity.json');
    const identity = describe(this.encoder);
    try {
      await mkdir(folder, { recursive: true });
      if (!existsSync(path)) writeFileAtomically(path, `${identity}\n`);
      const saved = await readFile(path, 'utf8');
      if (saved.trim() !== identity)
        throw new InputError(
          `${path} describes another encoder than this folder is for: found ${saved.trim()}, expected ${identity}; ` +
            'delete the folder to encode its texts again',
        );
      const names = (await readdir(folder)).filter((name) => name.endsWith('.keys')).sort();
      for (const name of names) {
        const storage = embeddingSegment({
          path: join(folder, name.slice(0, -'.keys'.length)),
          dimensions: this.dimensions,
        });
        const keys = (await storage.readKeys()).toString('latin1');
        for (let row = 0; row * KEY_BYTES < keys.length; row++)
          this.rows.set(keys.slice(row * KEY_BYTES, (row + 1) * KEY_BYTES), { storage, row });
      }
    } catch (error) {
      throw diskError(error, { what: `open the embedding store in ${folder}` });
    }
  }
}

/** Canonical, so that the order of options does not matter. */
function describe(encoder: Encoder): string {
  return stringify({ dimensions: encoder.dimensions, identity: encoder.identity })!;
}

/** Hashed as UTF-16: in UTF-8, texts that were cut inside different surrogate pairs would be equal. */
function textKey(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('binary').slice(0, KEY_BYTES);
}
