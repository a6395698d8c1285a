import { type BadItem, formatBadItem } from '../../src/data/bad-item.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { type LiveLines, type LiveState, liveLines, soonestRateMs } from './live-lines.ts';
import { hasScreen, type Terminal } from './terminal.ts';

export interface Progress {
  /** `done` of `total` are finished; `note` is shown at the end of the line. */
  update(done: number, note?: string): void;
  stop(): void;
}

interface ProgressOptions {
  readonly label: string;
  readonly total: number;
  readonly unit: string;
  /** Items that were done before the work began; the rate does not count them. */
  readonly before?: number;
}

type Stream = Terminal['stderr'];

const lineEveryMs = 5000;

/**
 * Lines for files and pipes: however many stages a piece of work goes through, there is at most one line every five seconds,
 * and one at the end that says how far the last stage came.
 */
export function pacedLines(stderr: Stream) {
  let shownMs = performance.now();
  let pending: string | null = null;
  const show = () => {
    if (pending !== null) stderr.write(`${pending}\n`);
    pending = null;
    shownMs = performance.now();
  };
  return {
    start({ label, total, unit, before = 0 }: ProgressOptions): Progress {
      const rate = rateSince(before);
      return {
        update(done, note = '') {
          const perSecond = rate(done);
          const speed = perSecond > 0 ? ` · ${perSecond.toFixed(1)}/s` : '';
          const left = perSecond > 0 && done < total ? ` · ${Math.ceil((total - done) / perSecond)} s left` : '';
          pending = `${label}: ${done}/${total} ${unit}${speed}${left} ${note}`.trimEnd();
          if (performance.now() - shownMs >= lineEveryMs) show();
        },
        stop() {},
      };
    },
    end: show,
  };
}

function rateSince(before: number): (done: number) => number {
  const startedMs = performance.now();
  return (done) => {
    const elapsedMs = performance.now() - startedMs;
    return elapsedMs < soonestRateMs ? 0 : ((done - before) * 1000) / elapsedMs;
  };
}

/** What a command shows of one piece of work that goes through named stages. */
export type StageProgress = Pick<WorkContext, 'onProgress' | 'onNote' | 'onMeasured'> & { done(): void };

/**
 * Shows work that goes through named stages: a line that is redrawn on a terminal, lines now and then elsewhere; both on stderr.
 * @param options.signal ends the drawing, so that what is said of the interruption is not drawn over
 * @param options.lines where other work is shown at the same time
 */
export function stageProgress(
  title: string,
  terminal: Pick<Terminal, 'stderr'>,
  options: { signal?: AbortSignal; lines?: LiveLines } = {},
): StageProgress {
  if (!hasScreen(terminal)) return plainProgress(title, terminal.stderr);
  const lines = options.lines ?? watchedLines(terminal, options.signal);
  const live = liveStages(title, lines);
  return {
    ...live,
    onNote: (line) => lines.note(`earshot: ${line}`),
    done() {
      if (options.lines === undefined) lines.stop();
      else live.done();
    },
  };
}

/** Lines on a terminal that stand still once the signal aborts. */
export function watchedLines(terminal: Pick<Terminal, 'stderr'>, signal?: AbortSignal): LiveLines {
  const lines = liveLines(terminal);
  signal?.addEventListener('abort', lines.stop, { once: true });
  return lines;
}

function plainProgress(title: string, stderr: Stream): StageProgress {
  const lines = pacedLines(stderr);
  let stage: { name: string; progress: Progress } | null = null;
  return {
    onProgress(name, done, total, note) {
      if (stage?.name !== name)
        stage = {
          name,
          progress: lines.start({ label: `${title}: ${name}`, total, unit: unitOf(name), before: countedBefore(done) }),
        };
      stage.progress.update(done, note);
    },
    onNote: (line) => void stderr.write(`earshot: ${line}\n`),
    onMeasured: null,
    done: lines.end,
  };
}

/** The stages of one piece of work on its line, with a sparkline of what is measured. */
export function liveStages(title: string, lines: LiveLines): Omit<StageProgress, 'onNote'> {
  let state: LiveState | null = null;
  let measured: Readonly<Record<string, number>> = {};
  const curve: number[] = [];
  return {
    onProgress(name, done, total, note = '') {
      const label = `${title}: ${name}`;
      const isNew = state?.label !== label;
      state = {
        label,
        done,
        total,
        unit: unitOf(name),
        before: isNew || state === null ? countedBefore(done) : state.before,
        startedMs: isNew || state === null ? performance.now() : state.startedMs,
        note,
        measured,
        curve,
      };
      lines.show(title, state);
    },
    onMeasured(now) {
      measured = now;
      const [first] = Object.values(now);
      if (first !== undefined) curve.push(first);
    },
    done: () => lines.remove(title),
  };
}

const units: Readonly<Record<string, string>> = {
  training: 'iterations',
  'judging prefixes': 'prefixes',
  sweep: 'trials',
};

function unitOf(stage: string): string {
  return units[stage] ?? 'steps';
}

/** The first report comes with the first item, or with all that an earlier process did. */
function countedBefore(done: number): number {
  return done <= 1 ? 0 : done;
}

const skippedShown = 5;

/** Collects what a reader leaves out; the first few are shown on stderr as they come, the others counted. */
export function collectSkipped({ stderr }: Pick<Terminal, 'stderr'>): {
  onSkipped: (item: BadItem) => void;
  count: () => number;
  report: () => void;
} {
  let count = 0;
  return {
    onSkipped(item) {
      count++;
      if (count <= skippedShown) stderr.write(`skipped ${formatBadItem(item)}\n`);
    },
    count: () => count,
    report() {
      if (count > skippedShown) stderr.write(`skipped ${count - skippedShown} more\n`);
    },
  };
}
