import { csvText } from '../../src/csv-text.ts';
import { trialId } from '../run/trial.ts';
import { leaderOf } from './leader.ts';
import { type SweepPlan, shownValue } from './plan.ts';
import { type SweepResult, sweepReport } from './report/sweep-report.ts';
import { sensitivities } from './sensitivity.ts';
import {
  frontPoints,
  meanSystems,
  readRows,
  type SystemMean,
  summarizeSettings,
  type TrialRow,
  trainedOn,
} from './trial-rows.ts';

/**
 * The results of a sweep, from the files in its folder: equal for equal trials, whatever was killed on the way. The test is looked
 * at here alone, once the leading setting is known, and for that setting.
 */
export function sweepResults(plan: SweepPlan, { command }: { command: string }) {
  const rows = readRows(plan);
  const settings = summarizeSettings(plan, rows);
  const leader = leaderOf(plan, settings);
  const shownFor = leader?.setting ?? settings.find(({ isComplete }) => isComplete);
  const scored = (shownFor?.rows ?? []).map(({ systems }) => systems);
  const beside = meanSystems(plan, scored);
  const onTest = (leader?.setting.rows ?? []).map(({ trial }) => plan.kind.score(trial.directory, 'test'));
  const result: SweepResult = {
    ...{ plan, command, rows, settings, leader },
    front: frontPoints(settings, beside),
    sensitivities: sensitivities(plan, rows),
    tested: meanSystems(plan, onTest),
  };
  const report = sweepReport(result);
  const json = { conclusion: report.conclusion, ...jsonOf(result, beside) };
  return { report, json, results: json, tables: { 'trials.csv': trialsCsv(plan, rows) } };
}

/** All trials, one per row: settings, seed, how it stands, scores on the development part. */
export function trialsCsv(plan: SweepPlan, rows: readonly TrialRow[]): string {
  const metrics = plan.kind.metrics.map(({ name }) => name);
  const scores = metrics.map((name) => `development.${name}`);
  const heading = ['trial', 'member', 'seed', 'status', ...plan.paths, 'objective', ...scores, 'message'];
  const cells = rows.map(({ trial, setting, status, objective, systems, message }) => [
    ...[trialId(trial), setting.name, trial.seed, status],
    ...plan.paths.map((path) => setting.point[path]),
    objective,
    ...metrics.map((name) => systems[0]?.values[name]),
    message,
  ]);
  return csvText([heading, ...cells.map((row) => row.map((cell) => shownValue(cell ?? '')))]);
}

/** The value that `--json` prints. */
function jsonOf(
  { plan, rows, settings, front, sensitivities: sensitivity, leader, tested }: SweepResult,
  beside: readonly SystemMean[],
) {
  return {
    name: plan.name,
    /** The leader, where the seeds tell it from all others. */
    recommended: leader?.isToldApart ? leader.setting.name : null,
    leader: leader && {
      member: leader.setting.name,
      settings: leader.setting.point,
      isToldApart: leader.isToldApart,
      conclusion: leader.conclusion,
      why: leader.why,
      test: tested,
    },
    members: settings.map(({ name, point, isComplete, isAllowed, objective, values, rows }) => ({
      id: name,
      settings: point,
      trials: rows.map(({ trial }) => trialId(trial)),
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
      status === 'failed' ? [{ trial: trialId(trial), label: trial.label, message }] : [],
    ),
  };
}
