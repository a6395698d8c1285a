/** Turns texts into vectors. Everything that can change a vector is part of `identity`. */
export interface Encoder {
  readonly dimensions: number;
  /** Name, version and options as plain JSON: the key under which embeddings are stored. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** Row-major `[texts.length, dimensions]`. */
  encode(texts: readonly string[]): Promise<Float32Array>;
}
