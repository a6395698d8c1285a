/**
 * Turns texts into vectors. A text's vector depends on the text and `identity` alone, so that it can be stored. A new
 * encoder is one file with an options schema and a function that returns an Encoder, and an entry in
 * `create-encoder.ts`.
 */
export interface Encoder {
  /** Length of a vector. */
  readonly dimensions: number;
  /**
   * Everything that can change a vector, as plain JSON: name, version, options, hashes of model files. It is part of
   * the key of stored embeddings.
   */
  readonly identity: Readonly<Record<string, unknown>>;
  /** One vector per text, row-major `[texts.length, dimensions]`. */
  encode(texts: readonly string[]): Promise<Float32Array>;
}
