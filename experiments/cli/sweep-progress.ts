import { failureTeller } from '../run/failures.ts';
import type { RunGroup, TrialFailure, TrialTask } from '../run/trial.ts';
import { objectiveOf } from '../sweep/objective.ts';
import type { SweepPlan } from '../sweep/plan.ts';
import { trialsOfPlan } from '../sweep/trials-of-plan.ts';
import { liveStages, notesTo, pacedLines, watchedLines } from './progress.ts';
import { hasScreen, type Terminal } from './terminal.ts';

/** What `sweep` shows while it runs. */
export interface SweepProgress {
  readonly onTrials: (counts: { done: number; total: number }) => void;
  readonly onNote: (line: string) => void;
  readonly onFailure: (label: string, failure: TrialFailure) => void;
  /** The same runner, its trials shown while they run. */
  watching(run: RunGroup): RunGroup;
  stop(): void;
}

/** The trials that are done, as a line now and then; on a terminal beside the trials under way and the best score so far. */
export function sweepProgress(plan: SweepPlan, options: { terminal: Terminal; signal: AbortSignal }): SweepProgress {
  const { terminal } = options;
  return hasScreen(terminal) ? watchedSweep(plan, options) : plainSweep(plan, terminal);
}

/** Iterations pass too quickly for a log; that they pass at all is worth a line a minute. */
const underWayEveryMs = 60_000;

function plainSweep({ name }: SweepPlan, terminal: Terminal): SweepProgress {
  const lines = pacedLines(terminal.stderr);
  const onNote = notesTo(terminal);
  const tellFailure = failureTeller(onNote);
  const show = lines.start({ label: name, unit: 'trials' });
  const begun = trialsUnderWay();
  let counts = { done: 0, total: 0 };
  let failed = 0;
  const note = () => [...(failed > 0 ? [`· ${failed} failed`] : []), begun.note()].join(' ');
  const stand = () => ({ ...counts, underWay: begun.worth(), note: note() });
  return {
    onTrials(now) {
      counts = now;
      show(stand());
    },
    onNote,
    onFailure(label, failure) {
      failed++;
      tellFailure(label, failure);
    },
    watching: (run) => async (tasks, told) => {
      const outcomes = await run(tasks, {
        onProgress(stage, done, total) {
          told?.onProgress?.(stage, done, total);
          begun.see(tasks, { stage, done, total });
          show(stand(), underWayEveryMs);
        },
      });
      begun.end(tasks);
      return outcomes;
    },
    stop: lines.end,
  };
}

interface StageOfTrials {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

/** How far the groups of trials are that have begun and not ended. */
function trialsUnderWay() {
  const groups = new Map<readonly TrialTask[], StageOfTrials & { readonly trained: number }>();
  return {
    see(tasks: readonly TrialTask[], now: StageOfTrials) {
      // What comes before and after the training is short beside it.
      const trained = now.stage === 'training' ? now.done / now.total : (groups.get(tasks)?.trained ?? 0);
      groups.set(tasks, { ...now, trained });
    },
    end: (tasks: readonly TrialTask[]) => void groups.delete(tasks),
    /** In trials: half of the iterations of four trials are two. */
    worth: () =>
      Array.from(groups, ([tasks, { trained }]) => tasks.length * trained).reduce((sum, own) => sum + own, 0),
    /** The group that began first stands for all. */
    note() {
      const [first] = groups.values();
      if (first === undefined) return '';
      const trials = [...groups.keys()].reduce((sum, tasks) => sum + tasks.length, 0);
      return `· ${trials} under way, ${trials > 1 ? 'the first at ' : ''}${first.stage} ${first.done}/${first.total}`;
    },
  };
}

/** Names of metrics as tables have them, where they are shorter than a path. */
const headings: Readonly<Record<string, string>> = { macroF1: 'macro-F1', er: 'ER' };

function watchedSweep(
  plan: SweepPlan,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): SweepProgress {
  const lines = watchedLines(terminal, signal);
  const onNote = notesTo(terminal, lines);
  const tellFailure = failureTeller(onNote);
  const objective = objectiveOf(plan);
  const { aim } = plan;
  const scores: number[] = [];
  const whole = liveStages(plan.name, lines);
  const begun = trialsUnderWay();
  let counts = { done: 0, total: trialsOfPlan(plan).length };
  let failed = 0;
  const show = () =>
    whole.onProgress('sweep', {
      ...counts,
      underWay: begun.worth(),
      note: failed > 0 ? `${failed} failed` : undefined,
    });
  show();
  /** What a trial that has just ended scores on the development part. */
  const lookAt = (directory: string) => {
    const [{ values }] = plan.kind.score(directory, 'development');
    const score = objective(values);
    if (score === null) return;
    scores.push(score);
    const beside = ['macroF1', 'er'].flatMap((name) => {
      const value = values[name];
      return value === null || value === undefined || name === aim ? [] : [[headings[name], value] as const];
    });
    whole.onMeasured?.({ [headings[aim] ?? aim]: score, ...Object.fromEntries(beside), best: Math.max(...scores) });
  };
  return {
    onTrials(now) {
      counts = now;
      show();
    },
    onNote,
    onFailure(label, failure) {
      failed++;
      tellFailure(label, failure);
    },
    watching: (run) => async (tasks, told) => {
      const others = tasks.length > 1 ? ` and ${tasks.length - 1} more` : '';
      const own = liveStages(`  ${tasks[0].label}${others}`, lines);
      const outcomes = await run(tasks, {
        onProgress(stage, done, total) {
          told?.onProgress?.(stage, done, total);
          begun.see(tasks, { stage, done, total });
          own.onProgress(stage, { done, total });
          show();
        },
      });
      own.done();
      begun.end(tasks);
      for (const [index, { how }] of outcomes.entries()) if (how === 'finished') lookAt(tasks[index].directory);
      return outcomes;
    },
    stop: lines.stop,
  };
}
