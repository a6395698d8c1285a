import { present } from '../../src/present.ts';
import type { OpenedExperiment } from '../kinds/experiment-kind.ts';
import { headlineOf, tellingOnce } from '../run/failures.ts';
import type { RunTrial, Trial, TrialFailure } from '../run/trial.ts';
import { openProgress, type Stand } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** Iterations pass too quickly for a log; that they pass at all is worth a line a minute. */
const underWayEveryMs = 60_000;

/** The trials that are done, on a terminal beside the trials under way. Of a single trial its stages. */
export function trialsProgress(
  { name }: Pick<OpenedExperiment, 'name'>,
  { trials, terminal, signal }: { trials: readonly Trial[]; terminal: Terminal; signal: AbortSignal },
) {
  const isSingle = trials.length === 1;
  const { isDrawn, line, note: onNote, stop } = openProgress(terminal, signal);
  const whole = isSingle ? null : line(name);
  const tellOnce = tellingOnce(onNote);
  const underWay = new Map<Trial, Stand & { readonly stage: string; readonly trained: number }>();
  let counts = { done: 0, total: trials.length };
  let failed = 0;
  const show = (everyMs?: number) => {
    const trained = Array.from(underWay.values(), (trial) => trial.trained).reduce((sum, each) => sum + each, 0);
    const note = present([failed > 0 && `${failed} failed`, !isDrawn && underWayInWords([...underWay.values()])]);
    whole?.see('trials', { ...counts, underWay: trained, note: note.join(' · ') }, everyMs);
  };
  if (isDrawn) show();
  return {
    onTrials(now: { done: number; total: number }): void {
      counts = now;
      show();
    },
    onNote,
    onFailure(label: string, failure: TrialFailure): void {
      failed++;
      // A single one is told by the error at the end.
      if (!isSingle || signal.aborted) tellOnce(`failed: ${label}: ${headlineOf(failure)}`, failure.message);
    },
    /** Wraps a runner so that its trials are shown while they run. */
    watching:
      (run: RunTrial): RunTrial =>
      async (trial) => {
        const ofTrial = isSingle || isDrawn ? line(isSingle ? trial.label : `  ${trial.label}`) : null;
        const outcome = await run(trial, {
          onProgress(stage, done, total, note) {
            // What comes before and after the training is short beside it.
            const trained = stage === 'training' ? done / total : (underWay.get(trial)?.trained ?? 0);
            underWay.set(trial, { stage, done, total, trained });
            ofTrial?.see(stage, { done, total, note });
            show(underWayEveryMs);
          },
        });
        ofTrial?.remove();
        underWay.delete(trial);
        return outcome;
      },
    stop,
  };
}

/** Counts the trials under way, and says how far the one that began first is; false without any. */
function underWayInWords([first, ...others]: readonly (Stand & { readonly stage: string })[]): string | false {
  if (first === undefined) return false;
  const place = `${others.length > 0 ? 'the first at ' : ''}${first.stage} ${first.done}/${first.total}`;
  return `${others.length + 1} under way, ${place}`;
}
