/**
 * Turns texts into vectors. A text's vector depends on nothing but the text and `identity`, so that it can be stored.
 * A new encoder is one file with an options schema and a function that returns an Encoder, and an entry in
 * `create-encoder.ts`.
 */
export interface Encoder {
  /** Length of a vector. */
  readonly dimensions: number;
  /**
   * Everything that can change a vector, as plain JSON: name, version, options, hashes of model files. Embeddings are
   * stored under it.
   */
  readonly identity: Readonly<Record<string, unknown>>;
  /** One vector for each text, row-major `[texts.length, dimensions]`. */
  encode(texts: readonly string[]): Promise<Float32Array>;
}
