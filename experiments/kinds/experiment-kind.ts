import { join } from 'node:path';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { ExperimentFile, ExperimentHead } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { Page } from '../report/page/page.ts';
import type { PageSource, VariantResults } from '../report/variant-results.ts';
import type { RequestedBackend } from '../run/programs.ts';

/** A variant with one seed. */
export interface Trial<Experiment> {
  readonly variant: string;
  readonly experiment: Experiment;
  readonly seed: number;
  readonly directory: string;
  /** Training stops there, with a checkpoint and decisions on the development part, to go on later or never. */
  readonly pauseAt?: number | undefined;
}

export function trialsOf<Experiment extends ExperimentHead>(
  file: ExperimentFile<Experiment>,
  runs: string,
): Trial<Experiment>[] {
  return file.variants.flatMap(({ name, experiment }) =>
    experiment.seeds.map((seed) => ({
      variant: name,
      experiment,
      seed,
      directory: join(runs, file.name, name, `seed-${seed}`),
    })),
  );
}

/** What differs between experiments on the stop agent and on the selector. All else about running them is shared. */
export interface ExperimentKind<Experiment extends ExperimentHead, Result> {
  load(path: string, overrides: readonly PlainObject[]): Promise<ExperimentFile<Experiment>>;
  /** What `--data` means. */
  dataOverride(path: string): PlainObject;
  /** Whether trials send paid requests to language models. Their budget holds for one process. */
  asksModels(experiment: Experiment): boolean;
  /** The tensor backend that trials ask for; null where trials cannot be trained together. */
  backendOf(experiment: Experiment): RequestedBackend | null;
  /** Trials of the same shape may be trained in one program, as a population; null where a trial must be alone. */
  shapeOf(experiment: Experiment): string | null;
  /** Prepares what the trials of this process share. The function it returns runs trials of one shape to their end. */
  start(options: {
    experiments: readonly Experiment[];
    runs: string;
    onBackend: (backend: BackendChoice) => void;
  }): Promise<(trials: readonly Trial<Experiment>[], context: WorkContext) => Promise<unknown>>;
  /** What a finished run came to, with scores computed from its decisions. */
  readResult(run: RunDirectory): Result;
  /** The same as `--json` prints it, intervals included. */
  readJson(run: RunDirectory): unknown;
  /** The report in Markdown. */
  render(report: {
    name: string;
    description: string;
    command: string;
    results: readonly VariantResults<Result>[];
  }): string;
  /** What it came to, for a screen: no line is longer than 100 characters. */
  summarize(report: { name: string; results: readonly VariantResults<Result>[] }): string;
  /** The report as a page. */
  page(report: PageSource): Promise<Page>;
}
