import type { OpenedExperiment } from '../kinds/experiment-kind.ts';
import { failureTeller } from '../run/failures.ts';
import type { RunTrial, Trial, TrialFailure } from '../run/trial.ts';
import { objectiveOf } from '../sweep/objective.ts';
import { isSweep } from '../sweep/plan.ts';
import { notesTo, plainLines, stagesOf, watchedLines } from './progress.ts';
import { hasScreen, type Terminal } from './terminal.ts';

/** Iterations pass too quickly for a log; that they pass at all is worth a line a minute. */
const underWayEveryMs = 60_000;

/** Names of metrics as tables have them, where they are shorter than a path. */
const headings: Readonly<Record<string, string>> = { macroF1: 'macro-F1', er: 'earliness' };

/**
 * The trials that are done, as a line now and then; on a terminal beside the trials under way and the best score of a sweep so far. Of a
 * single trial its stages.
 */
export function trialsProgress(
  experiment: OpenedExperiment,
  { trials, terminal, signal }: { trials: readonly Trial[]; terminal: Terminal; signal: AbortSignal },
) {
  const { name } = experiment;
  const isSingle = trials.length === 1;
  const screen = hasScreen(terminal) ? watchedLines(terminal, signal) : null;
  const plain = plainLines(terminal);
  const lineOf = (title: string) =>
    stagesOf(title, screen === null ? plain.show : (state) => screen.show(title, state));
  const whole = isSingle ? null : lineOf(name);
  const onNote = notesTo(terminal, screen ?? undefined);
  const tellFailure = failureTeller(onNote);
  const look = scoresSoFar(experiment);
  const begun = trialsUnderWay();
  const times = timesByStage();
  let counts = { done: 0, total: trials.length };
  let failed = 0;
  const show = (everyMs?: number) => {
    const failures = failed > 0 ? `${failed} failed` : '';
    const note = screen === null ? `${failures && `· ${failures} `}${begun.note()}` : failures;
    whole?.see('trials', { ...counts, underWay: begun.worth(), note }, everyMs);
  };
  if (screen !== null) show();
  return {
    onTrials(now: { done: number; total: number }): void {
      counts = now;
      show();
    },
    onNote,
    onFailure(label: string, failure: TrialFailure): void {
      failed++;
      // A single one is told by the error at the end.
      if (!isSingle || signal.aborted) tellFailure(label, failure);
    },
    /** Wraps a runner so that its trials are shown while they run. */
    watching:
      (run: RunTrial): RunTrial =>
      async (trial) => {
        const title = isSingle ? trial.label : `  ${trial.label}`;
        const line = screen === null && !isSingle ? null : lineOf(title);
        const clock = times.start();
        const outcome = await run(trial, {
          onBegun: clock.begin,
          onProgress(stage, done, total, note) {
            // What comes before the first step of a stage is its preparation.
            clock.spend(done === 0 ? 'preparing' : stage);
            begun.see(trial, { stage, done, total });
            line?.see(stage, { done, total, note });
            show(underWayEveryMs);
          },
          onMeasured: screen === null || line === null || isSweep(experiment) ? null : line.onMeasured,
        });
        screen?.remove(title);
        clock.spend('testing and saving');
        begun.end(trial);
        const measured = screen !== null && outcome.how === 'finished' ? look(trial.directory) : null;
        if (measured !== null) whole?.onMeasured(measured);
        return outcome;
      },
    /** Seconds that trials took so far, by what they did; those of trials that ran at the same time are added up. */
    seconds: times.seconds,
    stop: screen?.stop ?? plain.end,
  };
}

/** Each moment of a trial counts for what it told of next. */
function timesByStage() {
  const spentMs = new Map<string, number>();
  return {
    start() {
      let lastMs = performance.now();
      return {
        /** Waiting for a process before is no part of its time. */
        begin(): void {
          lastMs = performance.now();
        },
        spend(stage: string): void {
          const nowMs = performance.now();
          spentMs.set(stage, (spentMs.get(stage) ?? 0) + nowMs - lastMs);
          lastMs = nowMs;
        },
      };
    },
    seconds: (): Record<string, number> =>
      Object.fromEntries(Array.from(spentMs, ([stage, ms]) => [stage, Math.round(ms / 100) / 10])),
  };
}

/** The score of a trial that has just ended on the development part, beside the best so far; null without an objective. */
function scoresSoFar(experiment: OpenedExperiment): (directory: string) => Record<string, number> | null {
  if (!isSweep(experiment)) return () => null;
  const { aim, kind } = experiment;
  const objective = objectiveOf(experiment);
  let best = Number.NEGATIVE_INFINITY;
  return (directory) => {
    const [{ values }] = kind.score(directory, 'development');
    const score = objective(values);
    if (score === null) return null;
    best = Math.max(best, score);
    const beside = ['macroF1', 'er'].flatMap((name) => {
      const value = values[name];
      return value === null || value === undefined || name === aim ? [] : [[headings[name], value] as const];
    });
    return { [headings[aim] ?? aim]: score, ...Object.fromEntries(beside), best };
  };
}

interface TrialStage {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

/** How far the trials are that have begun and not ended. */
function trialsUnderWay() {
  const trials = new Map<Trial, TrialStage & { readonly trained: number }>();
  return {
    see(trial: Trial, now: TrialStage) {
      // What comes before and after the training is short beside it.
      const trained = now.stage === 'training' ? now.done / now.total : (trials.get(trial)?.trained ?? 0);
      trials.set(trial, { ...now, trained });
    },
    end: (trial: Trial) => void trials.delete(trial),
    /** In trials: half of the iterations of four trials are two. */
    worth: () => Array.from(trials.values(), ({ trained }) => trained).reduce((sum, trained) => sum + trained, 0),
    /** The trial that began first stands for all. */
    note() {
      const [first] = trials.values();
      if (first === undefined) return '';
      const { size } = trials;
      return `· ${size} under way, ${size > 1 ? 'the first at ' : ''}${first.stage} ${first.done}/${first.total}`;
    },
  };
}
