import { RunDirectory } from '../../checkpoints/run-directory.ts';

/** Finished runs of a variant. */
export interface VariantRuns {
  readonly variant: string;
  readonly directories: readonly string[];
}

/** What the finished runs of a variant came to. */
export interface VariantResults<Result> {
  readonly variant: string;
  readonly trials: readonly Result[];
}

export function resultsOf<Result>(
  variants: readonly VariantRuns[],
  read: (run: RunDirectory) => Result,
): VariantResults<Result>[] {
  return variants.map(({ variant, directories }) => ({
    variant,
    trials: directories.map((directory) => read(RunDirectory.open(directory))),
  }));
}

/** What a report is made of. */
export interface ReportSource {
  readonly name: string;
  readonly description: string;
  /** What trained the runs, or shows them. */
  readonly command: string;
  readonly variants: readonly VariantRuns[];
  /** Folder of the cache that the runs share. */
  readonly cache: string;
}
