/** What the finished runs of a variant came to. */
export interface VariantResults<Result> {
  readonly variant: string;
  readonly trials: readonly Result[];
}

/** What a page is made of: finished runs, at least one. */
export interface PageSource {
  readonly name: string;
  readonly description: string;
  /** What trained the runs, or shows them. */
  readonly command: string;
  readonly variants: readonly { readonly variant: string; readonly directories: readonly string[] }[];
  /** Folder of the cache that the runs share. */
  readonly cache: string;
}
