import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { holdingRuns, removeRun } from '../../checkpoints/run-lock.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { type ExperimentFile, type ExperimentHead, readExperimentYaml } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import { writePage } from '../report/page/write-page.ts';
import type { VariantResults } from '../report/variant-results.ts';
import { inPopulations } from '../run/populations.ts';
import { choosePrograms, type Programs } from '../run/programs.ts';
import { type ExperimentKind, type Trial, trialsOf } from './experiment-kind.ts';
import { selectorKind } from './selector-kind.ts';
import { stopAgentKind } from './stop-agent-kind.ts';

/** An experiment of any kind, ready to run. */
export interface OpenedExperiment {
  readonly name: string;
  /** `stop-agent` or `selector`. */
  readonly kind: 'stop-agent' | 'selector';
  /** What the file says of itself. */
  readonly description: string;
  readonly trials: readonly Trial<ExperimentHead>[];
  /** Whether any trial sends paid requests to language models. */
  readonly asksModels: boolean;
  /** How the trials are divided into programs, where the user does not say. */
  programs(asked: { jobs: number | undefined; population: number | undefined }): Promise<Programs>;
  /**
   * Runs every `share.of`-th group of trials in this process, one group after the other; stops at the first that the signal
   * interrupts. A group is trained as one population.
   */
  run(options: RunOptions): Promise<void>;
  finished(): readonly Trial<ExperimentHead>[];
  /** Of the trials that are finished, as `--json` prints them. */
  results(): VariantResults<unknown>[];
  /** Writes `report.md` and `report.json` beside the runs. Returns the Markdown, and what a screen shows of it. */
  writeReport(command: string): { report: string; summary: string };
  /**
   * Writes the report as a page with its pictures.
   * @param options.path of the page; `report.html` beside the runs unless given
   * @returns where it is
   */
  writePage(options: { command: string; path?: string | undefined }): Promise<string>;
}

export interface RunOptions {
  readonly share: { readonly index: number; readonly of: number };
  /** Trials of one shape that are trained together at most. */
  readonly population: number;
  readonly restart: boolean;
  /** What a group of trials tells; `done` is called at its end. `first` counts all trials from 1, in the order they run. */
  readonly contextFor: (
    trials: readonly Trial<ExperimentHead>[],
    place: { first: number; total: number },
  ) => Partial<WorkContext> & { done?: () => void };
  readonly onBackend?: ((backend: BackendChoice) => void) | undefined;
  readonly signal: AbortSignal;
}

interface Source {
  readonly path: string;
  readonly overrides: readonly PlainObject[];
  /** Only these variants; all of them unless given. */
  readonly variants?: readonly string[] | undefined;
  /** In place of the file's threads. */
  readonly data?: string | undefined;
  /** Folder for runs, and for the work they share. */
  readonly runs: string;
}

/** @throws InputError for a file that is no valid experiment */
export async function openExperiment(source: Source): Promise<OpenedExperiment> {
  const { kind = 'stop-agent' } = await readExperimentYaml(source.path);
  if (kind === 'stop-agent') return { kind, ...(await opened(stopAgentKind, source)) };
  if (kind === 'selector') return { kind, ...(await opened(selectorKind, source)) };
  if (kind === 'sweep') throw new InputError(`${source.path} is a sweep; run it with \`earshot sweep ${source.path}\``);
  throw new InputError(
    `${source.path}: kind is ${JSON.stringify(kind)}; it must be stop-agent (the default) or selector`,
  );
}

async function opened<Experiment extends ExperimentHead, Result>(
  kind: ExperimentKind<Experiment, Result>,
  { path, overrides, variants, data, runs }: Source,
): Promise<Omit<OpenedExperiment, 'kind'>> {
  const file = await kind.load(path, [...overrides, ...(data === undefined ? [] : [kind.dataOverride(data)])]);
  const { name, description } = file;
  const trials = trialsOf({ ...file, variants: chosenVariants(file, variants) }, runs);
  const asksModels = trials.some(({ experiment }) => kind.asksModels(experiment));
  const finished = () => trials.filter(({ directory }) => existsSync(join(directory, 'result.json')));
  const resultsBy = <T>(read: (run: RunDirectory) => T): VariantResults<T>[] =>
    Array.from(
      groupBy(finished(), ({ variant }) => variant),
      ([variant, own]) => ({ variant, trials: own.map(({ directory }) => read(RunDirectory.open(directory))) }),
    );
  const results = () => resultsBy(kind.readJson);
  return {
    name,
    description,
    trials,
    asksModels,
    programs: (asked) =>
      choosePrograms({ ...asked, trials: trials.length, backend: kind.backendOf(trials[0].experiment), asksModels }),
    async run({ share, population, restart, contextFor, onBackend = () => {}, signal }) {
      const groups = inPopulations(trials, {
        size: population,
        shapeOf: ({ experiment }) => kind.shapeOf(experiment),
      });
      const before = (group: (typeof groups)[number]) => groups.slice(0, groups.indexOf(group)).flat().length;
      const own = groups.filter((_, index) => index % share.of === share.index);
      if (own.length === 0) return;
      const experiments = own.flat().map(({ experiment }) => experiment);
      const runTrials = await kind.start({ experiments, runs, onBackend });
      for (const group of own) {
        if (signal.aborted) return;
        const { done, ...told } = contextFor(group, { first: before(group) + 1, total: trials.length });
        try {
          if (restart) await Promise.all(group.map(({ directory }) => removeRun(directory)));
          await holdingRuns(
            group.map(({ directory }) => directory),
            () => runTrials(group, workContext({ ...told, signal })),
          );
        } finally {
          done?.();
        }
      }
    },
    finished,
    results,
    writeReport(command) {
      const read = resultsBy(kind.readResult);
      const report = kind.render({ name, description, command, results: read });
      const directory = join(runs, name);
      writeFileAtomically(join(directory, 'report.md'), report);
      writeFileAtomically(join(directory, 'report.json'), `${JSON.stringify({ name, results: results() }, null, 2)}\n`);
      return { report, summary: kind.summarize({ name, results: read }) };
    },
    async writePage({ command, path = join(runs, name, 'report.html') }) {
      const variants = Array.from(
        groupBy(finished(), ({ variant }) => variant),
        ([variant, own]) => ({ variant, directories: own.map(({ directory }) => directory) }),
      );
      writePage(path, await kind.page({ name, description, command, variants, cache: join(runs, 'cache') }));
      return path;
    },
  };
}

/** @throws InputError for a variant that the file does not have */
function chosenVariants<Experiment extends ExperimentHead>(
  { name, variants }: ExperimentFile<Experiment>,
  wanted: readonly string[] | undefined,
): ExperimentFile<Experiment>['variants'] {
  if (wanted === undefined) return variants;
  const known = variants.map((variant) => variant.name);
  const unknown = wanted.find((variant) => !known.includes(variant));
  if (unknown !== undefined)
    throw new InputError(`${name} has no variant ${JSON.stringify(unknown)}; there are ${known.join(', ')}`);
  return variants.filter((variant) => wanted.includes(variant.name));
}
