import { join } from 'node:path';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import type { ScreenBlock } from '../report/narrow-table.ts';
import { pageOf } from '../report/page/page.ts';
import { writePage } from '../report/page/write-page.ts';
import { writeReportFiles } from '../report/write-report.ts';
import { frontPoints } from './front.ts';
import { leaderOf } from './leader.ts';
import type { SweepPlan } from './plan.ts';
import { type SweepResult, sweepReport } from './report/sweep-report.ts';
import { meanSystems, readRows, type SystemMean, summarizeSettings, trainedOn } from './results.ts';
import { sensitivities } from './sensitivity.ts';
import type { SweepFolder } from './sweep-folder.ts';
import { tableCsv, tableJson, tableParquet, trialTable } from './trial-table.ts';

export interface SweepResults {
  /** The report as Markdown. */
  readonly text: string;
  /** What a screen shows of it, in lines of so many characters. */
  readonly summary: readonly ScreenBlock[];
  /** What `--json` prints. */
  readonly json: object;
}

/**
 * Writes the tables, the report and the pictures of a sweep from what lies in its folder: the same bytes for the same
 * trials, whatever was killed on the way. The test is looked at here alone, once the leading setting is known, and for that setting.
 * @param options.page where the page goes; null for none
 */
export async function writeResults(
  plan: SweepPlan,
  { folder, command, page = null }: { folder: SweepFolder; command: string; page?: string | null },
): Promise<SweepResults> {
  const rows = readRows(plan, folder);
  const settings = summarizeSettings(plan, rows);
  const leader = leaderOf(plan, settings);
  const shownFor = leader?.setting ?? settings.find(({ isComplete }) => isComplete);
  const scored = (shownFor?.rows ?? []).map(({ systems }) => systems);
  const beside = meanSystems(plan, scored);
  const onTest = (leader?.setting.rows ?? []).map(({ trial }) => plan.kind.score(folder.directoryOf(trial), 'test'));
  const tested = meanSystems(plan, onTest);
  const front = frontPoints(settings, beside);
  const sensitivity = sensitivities(plan, rows);
  const result = { plan, command, rows, settings, front, sensitivities: sensitivity, leader, tested };
  const report = sweepReport(result);
  const json = { conclusion: report.conclusion, ...jsonOf(result, beside) };
  const table = trialTable(plan, rows);
  const files: Record<string, string | Uint8Array> = {
    'trials.csv': tableCsv(table),
    'trials.json': tableJson(table),
    'trials.parquet': tableParquet(table),
  };
  for (const [name, content] of Object.entries(files)) writeFileAtomically(join(folder.path, name), content);
  if (page !== null) writePage(page, await pageOf(report, json));
  return { ...writeReportFiles(folder.path, { report, json }), json };
}

/** What `--json` prints. */
function jsonOf(
  { plan, rows, settings, front, sensitivities: sensitivity, leader, tested }: SweepResult,
  beside: readonly SystemMean[],
) {
  return {
    name: plan.name,
    /** The leader, where the seeds tell it from all others. */
    recommended: leader?.isToldApart ? leader.setting.id : null,
    leader: leader && {
      member: leader.setting.id,
      settings: leader.setting.point,
      isToldApart: leader.isToldApart,
      conclusion: leader.conclusion,
      why: leader.why,
      test: tested,
    },
    members: settings.map(({ id, point, isComplete, isAllowed, objective, values, rows: own }) => ({
      id,
      settings: point,
      trials: own.map(({ trial }) => trial.id),
      isComplete,
      isAllowed,
      objective,
      development: values,
    })),
    baselines: beside
      .filter(({ role }) => role !== 'learnt')
      .map(({ name, role, values }) => ({ name, role, development: values })),
    front,
    sensitivity,
    trainedOn: trainedOn(rows),
    failed: rows.flatMap(({ trial, status, message }) =>
      status === 'failed' ? [{ trial: trial.id, label: trial.label, message }] : [],
    ),
  };
}
