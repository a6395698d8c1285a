import type { z } from 'zod';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import type { ExperimentFile, ExperimentHead } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { Trial } from './trials.ts';

export interface TrialHooks {
  readonly onStage?: (stage: string, done: number, total: number) => void;
  readonly onNote?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface VariantResults<Result> {
  readonly variant: string;
  readonly trials: readonly Result[];
}

/** What the stop agent and the selector do each in its own way; all else of running an experiment they share. */
export interface ExperimentKind<Experiment extends ExperimentHead, Result> {
  load(path: string, overrides: readonly PlainObject[]): Promise<ExperimentFile<Experiment>>;
  /** What `--data` means. */
  dataOverride(path: string): PlainObject;
  /** Prepares what the trials of this process share. The function it returns runs one trial to its end. */
  start(options: {
    experiments: readonly Experiment[];
    runs: string;
    onBackend?: (backend: BackendChoice) => void;
  }): Promise<(trial: Trial<Experiment>, hooks: TrialHooks) => Promise<unknown>>;
  readonly resultSchema: z.ZodType<Result>;
  /** The report in Markdown. */
  render(report: {
    name: string;
    description: string;
    command: string;
    results: readonly VariantResults<Result>[];
  }): string;
}
