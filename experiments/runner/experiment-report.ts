import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import type { OpenedExperiment } from '../kinds/experiment-kind.ts';
import type { KindsReport, VariantRuns } from '../report/kind-report.ts';
import { pageOf, writePage } from '../report/page/page.ts';
import { markdownOf, screenOf, screenOfAll } from '../report/report.ts';
import { isFinished } from '../run/trial.ts';
import { isSweep } from '../sweep/plan.ts';
import { sweepResults } from '../sweep/sweep-results.ts';
import { folderOf } from './experiment-folder.ts';

interface Results {
  readonly report: KindsReport;
  /** The value that `--json` prints and a page contains. */
  readonly results: object;
  /** The content of `report.json`. */
  readonly json: object;
  /** Further files, by name. */
  readonly tables: Readonly<Record<string, string>>;
}

/**
 * Writes `report.md`, `report.json` and the tables of a sweep beside the runs.
 * @param options.command trained the runs or shows them
 * @returns what a terminal shows of them, and what writes the page
 */
export async function writeReport(experiment: OpenedExperiment, options: { command: string }) {
  const { report, results, json, tables }: Results = isSweep(experiment)
    ? sweepResults(experiment, options)
    : await variantResults(experiment, options);
  const folder = folderOf(experiment);
  const files = { ...tables, 'report.json': `${JSON.stringify(json, null, 2)}\n`, 'report.md': markdownOf(report) };
  for (const [name, content] of Object.entries(files)) writeFileAtomically(join(folder, name), content);
  const { next, recommended = null } = report;
  return {
    ...{ whole: screenOfAll(report), summary: screenOf(report), next, results, recommended },
    /** Writes the report as a page with its pictures, and returns where it is. */
    async writePage(path: string = join(folder, 'report.html')): Promise<string> {
      writePage(path, await pageOf(report, results));
      return path;
    },
  };
}

async function variantResults(experiment: OpenedExperiment, { command }: { command: string }): Promise<Results> {
  const { name, description, kind, runs } = experiment;
  const reportOf = await kind.report();
  const { report, results } = reportOf({
    name,
    description,
    command,
    variants: finishedVariants(experiment),
    cache: join(runs, 'cache'),
  });
  const { conclusion, recommended = null } = report;
  return { report, results, json: { name, conclusion, recommended, results }, tables: {} };
}

/** The finished runs of each variant; no variant without any. */
export function finishedVariants({ members }: OpenedExperiment): VariantRuns[] {
  return members
    .map(({ name, trials }) => ({
      variant: name,
      directories: trials.map(({ directory }) => directory).filter(isFinished),
    }))
    .filter(({ directories }) => directories.length > 0);
}

/**
 * Writes what is recommended as `policy/` beside the runs, where the kind of experiment ships one. An earlier policy goes.
 * @param options.recommended null where nothing is
 * @param options.isNew whether runs were trained since; an earlier policy is left as it is otherwise
 * @returns where the policy is; null for none
 */
export async function shipPolicy(
  experiment: OpenedExperiment,
  { recommended, isNew }: { recommended: object | null; isNew: boolean },
): Promise<string | null> {
  const { kind } = experiment;
  const out = join(folderOf(experiment), 'policy');
  const hasPolicy = existsSync(join(out, 'manifest.json'));
  if (!isNew && hasPolicy) return recommended === null ? null : out;
  if (recommended === null) {
    if (hasPolicy) rmSync(out, { recursive: true });
    return null;
  }
  if (kind.ship === undefined) return null;
  return (await kind.ship({ recommended, out })) ? out : null;
}
