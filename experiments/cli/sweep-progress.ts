import { objectiveOf } from '../sweep/objective.ts';
import { type SweepPlan, trialsOfPlan } from '../sweep/plan.ts';
import type { RunGroup } from '../sweep/trial-pool.ts';
import { liveStages, pacedLines, watchedLines } from './progress.ts';
import { hasScreen, type Terminal } from './terminal.ts';

/** What `sweep` shows while it runs. */
export interface SweepProgress {
  readonly onTrials: (counts: { done: number; total: number }) => void;
  readonly onNote: (line: string) => void;
  /** The same runner, its trials shown while they run. */
  watching(run: RunGroup): RunGroup;
  stop(): void;
}

/** The trials that are done, as a line now and then; on a terminal beside the trials under way and the best score so far. */
export function sweepProgress(plan: SweepPlan, options: { terminal: Terminal; signal: AbortSignal }): SweepProgress {
  const { terminal } = options;
  return hasScreen(terminal) ? watchedSweep(plan, options) : plainSweep(plan, terminal);
}

/** Lines of other processes, and our own, with our name once. */
export function notesOf({ stderr }: Pick<Terminal, 'stderr'>): (line: string) => void {
  return (line) => void stderr.write(`${named(line)}\n`);
}

function named(line: string): string {
  return line.startsWith('earshot:') ? line : `earshot: ${line}`;
}

function plainSweep({ name }: SweepPlan, terminal: Terminal): SweepProgress {
  const lines = pacedLines(terminal.stderr);
  let progress: ReturnType<typeof lines.start> | null = null;
  return {
    onTrials({ done, total }) {
      progress ??= lines.start({ label: name, total, unit: 'trials' });
      progress.update(done);
      // Every rung of a successive halving begins anew.
      if (done === total) progress = null;
    },
    onNote: notesOf(terminal),
    watching: (run) => run,
    stop: lines.end,
  };
}

function watchedSweep(
  plan: SweepPlan,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): SweepProgress {
  const lines = watchedLines(terminal, signal);
  const objective = objectiveOf(plan);
  const aim = plan.sweep.objective.maximise ?? plan.kind.objective;
  const scores: number[] = [];
  const whole = liveStages(plan.name, lines);
  whole.onProgress('sweep', 0, trialsOfPlan(plan).length);
  /** What a trial that has just ended scores on the development part. */
  const lookAt = (directory: string) => {
    const [{ values }] = plan.kind.score(directory, 'development');
    const score = objective(values);
    scores.push(score);
    const shown = ['macroF1', 'er'].flatMap((name) => {
      const value = values[name];
      return value === null || value === undefined || name === aim ? [] : [[`last ${name}`, value] as const];
    });
    whole.onMeasured?.({ [`last ${aim}`]: score, ...Object.fromEntries(shown), best: Math.max(...scores) });
  };
  return {
    onTrials: ({ done, total }) => whole.onProgress('sweep', done, total),
    onNote: (line) => lines.note(named(line)),
    watching: (run) => async (tasks, told) => {
      const others = tasks.length > 1 ? ` and ${tasks.length - 1} more` : '';
      const own = liveStages(`  ${tasks[0].label}${others}`, lines);
      const outcomes = await run(tasks, {
        onProgress(stage, done, total) {
          told?.onProgress?.(stage, done, total);
          own.onProgress(stage, done, total);
        },
      });
      own.done();
      for (const [index, { how }] of outcomes.entries()) if (how === 'finished') lookAt(tasks[index].directory);
      return outcomes;
    },
    stop: lines.stop,
  };
}
