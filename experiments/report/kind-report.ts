import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import type { Report } from './report.ts';

/** Finished runs of a variant. */
export interface VariantRuns {
  readonly variant: string;
  readonly directories: readonly string[];
}

/** A variant with the results of its runs. */
export interface VariantResults<Result> {
  readonly variant: string;
  readonly trials: readonly Result[];
}

/** The material of a report. */
export interface ReportSource {
  readonly name: string;
  readonly description: string;
  /** The command that trained the runs or shows them. */
  readonly command: string;
  readonly variants: readonly VariantRuns[];
  /** Folder of the cache that the runs share. */
  readonly cache: string;
}

/** Shows finished runs of one kind of experiment: at least one of each variant. */
export type KindReport = (source: ReportSource) => {
  readonly report: KindsReport;
  /** Results of the runs, intervals included, as `--json` prints them and a page contains them. */
  readonly results: readonly VariantResults<unknown>[];
};

/** `recommended`: the run to go on with; null where there is none. */
export type KindsReport = Report & { readonly recommended?: object | null };

/** A report whose runs are read once. */
export function kindReport<Result>(kind: {
  read(run: RunDirectory): Result;
  json(result: Result): unknown;
  of(source: ReportSource, results: readonly VariantResults<Result>[]): KindsReport;
}): KindReport {
  return (source) => {
    const results = source.variants.map(({ variant, directories }) => ({
      variant,
      trials: directories.map((directory) => kind.read(RunDirectory.open(directory))),
    }));
    return {
      report: kind.of(source, results),
      results: results.map(({ variant, trials }) => ({ variant, trials: trials.map(kind.json) })),
    };
  };
}

/** When, by what and from what the first of some runs was made. */
export function provenanceFacts([{ directories }]: readonly VariantRuns[], data: string): string[] {
  const { startedAt, earshot, git, backend } = RunDirectory.open(directories[0]).readRecord();
  return [
    startedAt.slice(0, 10),
    `Earshot ${earshot}`,
    ...(git === null ? [] : [`commit ${git.commit.slice(0, 8)}${git.dirty ? ', changed since' : ''}`]),
    `data: ${data}`,
    ...(backend === 'none' ? [] : [`backend: ${backend}`]),
  ];
}

/** Reads a value, or says why it cannot be read: a page is written without missing parts. */
export async function readable<Value>(
  read: () => Promise<Value>,
): Promise<{ value: Value; problem: null } | { value: null; problem: string }> {
  try {
    return { value: await read(), problem: null };
  } catch (error) {
    if (error instanceof InputError) return { value: null, problem: error.message };
    throw error;
  }
}
