import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import { type ExperimentHead, readExperimentYaml } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import { selectorKind } from '../selector/kind.ts';
import { stopAgentKind } from '../stop-agent/kind.ts';
import { removeTrial } from '../stop-agent/trial.ts';
import type { ExperimentKind, TrialHooks, VariantResults } from './experiment-kind.ts';
import { type Trial, trialsOf } from './trials.ts';

/** An experiment of any kind, ready to run. */
export interface OpenedExperiment {
  readonly name: string;
  readonly trials: readonly Trial<ExperimentHead>[];
  /** Runs every `share.of`-th trial one after the other in this process; stops at the first that the signal interrupts. */
  run(options: RunOptions): Promise<void>;
  /** Of the trials that are finished. */
  results(): VariantResults<unknown>[];
  /** Writes `report.md` and `report.json` beside the runs and returns the Markdown. */
  writeReport(command: string): string;
}

export interface RunOptions {
  readonly share: { readonly index: number; readonly of: number };
  readonly restart: boolean;
  readonly hooksFor: (
    trial: Trial<ExperimentHead>,
    place: { index: number; total: number },
  ) => TrialHooks & { done?: () => void };
  readonly onBackend?: (backend: BackendChoice) => void;
  readonly signal: AbortSignal;
}

interface Source {
  readonly path: string;
  readonly overrides: readonly PlainObject[];
  /** In place of the file's threads. */
  readonly data?: string | undefined;
  /** Folder for runs, and for the work they share. */
  readonly runs: string;
}

/** @throws InputError for a file that is no valid experiment */
export async function openExperiment(source: Source): Promise<OpenedExperiment> {
  const { kind = 'stop-agent' } = await readExperimentYaml(source.path);
  if (kind === 'stop-agent') return opened(stopAgentKind, source);
  if (kind === 'selector') return opened(selectorKind, source);
  throw new InputError(
    `${source.path}: kind is ${JSON.stringify(kind)}; it must be stop-agent (the default) or selector`,
  );
}

async function opened<Experiment extends ExperimentHead, Result>(
  kind: ExperimentKind<Experiment, Result>,
  { path, overrides, data, runs }: Source,
): Promise<OpenedExperiment> {
  const file = await kind.load(path, [...overrides, ...(data === undefined ? [] : [kind.dataOverride(data)])]);
  const { name, description } = file;
  const trials = trialsOf(file, runs);
  const results = () => finishedResults(trials, kind.resultSchema);
  return {
    name,
    trials,
    async run({ share, restart, hooksFor, onBackend, signal }) {
      const own = trials.filter((_, index) => index % share.of === share.index);
      if (own.length === 0) return;
      const experiments = own.map(({ experiment }) => experiment);
      const runTrial = await kind.start({ experiments, runs, ...(onBackend && { onBackend }) });
      for (const [index, trial] of own.entries()) {
        if (signal.aborted) return;
        if (restart) removeTrial(trial.directory);
        const hooks = hooksFor(trial, { index, total: own.length });
        try {
          await runTrial(trial, { ...hooks, signal });
        } finally {
          hooks.done?.();
        }
      }
    },
    results,
    writeReport(command) {
      const finished = results();
      const report = kind.render({ name, description, command, results: finished });
      const directory = join(runs, name);
      writeFileAtomically(join(directory, 'report.md'), report);
      writeFileAtomically(join(directory, 'report.json'), `${JSON.stringify({ name, results: finished }, null, 2)}\n`);
      return report;
    },
  };
}

function finishedResults<Result>(
  trials: readonly Trial<ExperimentHead>[],
  schema: z.ZodType<Result>,
): VariantResults<Result>[] {
  const byVariant = new Map<string, Result[]>();
  for (const { variant, directory } of trials) {
    if (!existsSync(join(directory, 'config.json'))) continue;
    const run = RunDirectory.open(directory);
    if (run.isFinished()) byVariant.set(variant, [...(byVariant.get(variant) ?? []), run.readResult(schema)]);
  }
  return Array.from(byVariant, ([variant, results]) => ({ variant, trials: results }));
}
