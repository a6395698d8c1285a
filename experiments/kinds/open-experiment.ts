import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { type ExperimentFile, loadVariants, readExperimentYaml } from '../config/experiment-file.ts';
import { isPlainObject, type PlainObject } from '../config/overrides.ts';
import type { VariantRuns } from '../report/kind-report.ts';
import { pageOf } from '../report/page/page.ts';
import { writePage } from '../report/page/write-page.ts';
import { writeReportFiles } from '../report/write-report.ts';
import { finishedBelow } from '../run/runs-below.ts';
import { isFinished, type Trial } from '../run/trial.ts';
import { type ResolvedExperiment, trialOf } from './experiment-kind.ts';
import { kindOf } from './kinds.ts';
import { refuseCopies } from './report-runs.ts';
import { changedThreads } from './thread-hashes.ts';

/** A variant with one seed. */
export interface VariantTrial extends Trial {
  readonly variant: string;
}

/** An experiment of any kind, ready to run. */
export interface OpenedExperiment {
  readonly name: string;
  readonly kind: string;
  /** What the file says of itself. */
  readonly description: string;
  /** Folder for runs, and for the work they share. */
  readonly runs: string;
  readonly variants: readonly ResolvedExperiment[];
  /** Every variant with every seed. */
  readonly trials: readonly VariantTrial[];
}

interface ExperimentSource {
  path: string;
  overrides: readonly PlainObject[];
  /** Only these variants; all of them unless given. */
  variants?: readonly string[];
  /** In place of the file's threads. */
  data?: string;
  runs: string;
}

/**
 * The experiment under a name that no runs of other settings or other threads have: its own, else `<name>-2`, `<name>-3`, …
 * @returns with the name that is taken, and what differs there; null where it keeps its own
 * @throws InputError for a file that is no valid experiment
 */
export async function openBesideOthers(
  source: ExperimentSource,
): Promise<{ experiment: OpenedExperiment; others: { name: string; differences: string[] } | null }> {
  const own = await openExperiment(source);
  const differences = await differencesOf(own);
  if (differences.length === 0) return { experiment: own, others: null };
  const { name } = own;
  for (let number = 2; ; number++) {
    const overrides = [...source.overrides, { name: `${name}-${number}` }];
    const experiment = await openExperiment({ ...source, overrides });
    if ((await differencesOf(experiment)).length === 0) return { experiment, others: { name, differences } };
  }
}

/** What runs of this name have otherwise. */
async function differencesOf(experiment: OpenedExperiment): Promise<string[]> {
  const changed = await changedThreads(experiment);
  return [...otherSettings(experiment), ...changed.map((file) => `${file} was changed since`)];
}

/** What the first run that was begun with other settings has otherwise. */
function otherSettings({ trials }: OpenedExperiment): string[] {
  const begun = trials.filter(({ directory }) => existsSync(join(directory, 'config.json')));
  for (const { directory, config } of begun) {
    const differences = RunDirectory.open(directory).otherSettings(config);
    if (differences.length > 0) return differences;
  }
  return [];
}

/** @throws InputError for a file that is no valid experiment */
export async function openExperiment(source: ExperimentSource): Promise<OpenedExperiment> {
  const { path, data, runs } = source;
  const raw = await readExperimentYaml(path);
  const kind = await kindOf(raw.kind, path);
  const { resolve, soleVariant } = kind;
  const own = [...source.overrides, ...(data === undefined ? [] : [kind.dataOverride(data)])];
  const load = (overrides: readonly PlainObject[]) => loadVariants({ path, overrides, resolve, soleVariant });
  const asked = await load(own);
  const readsFiles = asked.variants.some(({ experiment }) => experiment.threadFiles.length > 0);
  // What a file says of the threads that it makes is not said of others.
  const file = makesThreads(raw) && readsFiles ? await load([{ description: '' }, ...own]) : asked;
  const variants = chosenVariants(file, source.variants);
  const { name, description } = file;
  return {
    name,
    kind: kind.name,
    description,
    runs,
    variants: variants.map(({ experiment }) => experiment),
    trials: variants.flatMap(({ name: variant, experiment }) =>
      experiment.seeds.map((seed) => ({
        ...trialOf(kind, experiment, { seed, label: `${variant}, seed ${seed}` }),
        variant,
        directory: join(runs, name, variant, `seed-${seed}`),
        runs,
      })),
    ),
  };
}

/** Whether the file itself has its threads made. */
function makesThreads({ data }: PlainObject): boolean {
  return isPlainObject(data) && ('synthetic' in data || 'planted' in data);
}

export function finishedTrials({ trials }: Pick<OpenedExperiment, 'trials'>): VariantTrial[] {
  return trials.filter(({ directory }) => isFinished(directory));
}

/** Writes `report.md` and `report.json` beside the runs. Returns what a screen shows of them, and what writes the page. */
export async function writeReport(
  experiment: OpenedExperiment,
  { command, variants = finishedVariants(experiment) }: { command: string; variants?: readonly VariantRuns[] },
) {
  const { name, kind, runs } = experiment;
  const reportOf = await (await kindOf(kind)).report();
  const { description } = experiment;
  const { report, results } = reportOf({ name, description, command, variants, cache: join(runs, 'cache') });
  const { conclusion, recommended = null, next } = report;
  const json = { name, conclusion, recommended, results };
  return {
    ...writeReportFiles(join(runs, name), { report, json }),
    ...{ next, results, recommended },
    /** Writes the report as a page with its pictures, and returns where it is. */
    async writePage(path: string = join(runs, name, 'report.html')): Promise<string> {
      writePage(path, await pageOf(report, results));
      return path;
    },
  };
}

/**
 * Writes what is recommended as `policy/` beside the runs, where the kind of experiment ships one. An earlier policy goes.
 * @param options.recommended null where nothing is
 * @param options.isNew whether runs were trained since; an earlier policy is left as it is otherwise
 * @returns where the policy is; null for none
 */
export async function shipPolicy(
  { name, kind, runs }: OpenedExperiment,
  { recommended, isNew }: { recommended: object | null; isNew: boolean },
): Promise<string | null> {
  const { ship } = await kindOf(kind);
  const out = join(runs, name, 'policy');
  const hasPolicy = existsSync(join(out, 'manifest.json'));
  if (!isNew && hasPolicy) return recommended === null ? null : out;
  if (recommended === null) {
    if (hasPolicy) rmSync(out, { recursive: true });
    return null;
  }
  if (ship === undefined) return null;
  await ship({ recommended, out });
  return out;
}

/**
 * The finished runs of each variant that have its settings, whatever seeds the file names; no variant without any.
 * @throws InputError where a run stands there twice
 */
export function finishedWithAnySeed({ trials }: Pick<OpenedExperiment, 'trials'>): VariantRuns[] {
  const byVariant = groupBy(trials, ({ variant }) => variant);
  return Array.from(byVariant, ([variant, [{ directory, config }]]) => {
    const folder = dirname(directory);
    const finished = existsSync(folder) ? finishedBelow(folder, 1) : [];
    const directories = finished.filter((run) => RunDirectory.open(run).otherSettings(config).length === 0);
    refuseCopies(directories);
    return { variant, directories };
  }).filter(({ directories }) => directories.length > 0);
}

/** The finished runs of each variant with the seeds that the file names; no variant without any. */
export function finishedVariants(experiment: OpenedExperiment): VariantRuns[] {
  const byVariant = groupBy(finishedTrials(experiment), ({ variant }) => variant);
  return Array.from(byVariant, ([variant, own]) => ({ variant, directories: own.map(({ directory }) => directory) }));
}

/** @throws InputError for a variant that the file does not have */
function chosenVariants(
  { name, variants }: ExperimentFile<ResolvedExperiment>,
  wanted: readonly string[] | undefined,
): ExperimentFile<ResolvedExperiment>['variants'] {
  if (wanted === undefined) return variants;
  const known = variants.map((variant) => variant.name);
  const unknown = wanted.find((variant) => !known.includes(variant));
  if (unknown !== undefined)
    throw new InputError(`${name} has no variant ${JSON.stringify(unknown)}; there are ${known.join(', ')}`);
  return variants.filter((variant) => wanted.includes(variant.name));
}
