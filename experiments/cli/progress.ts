import { Presets, SingleBar } from 'cli-progress';
import { type BadItem, formatBadItem } from '../../src/data/bad-item.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Terminal } from './terminal.ts';

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

/** A bar with rate and time left on a terminal, a line every five seconds elsewhere; both on stderr. */
export function startProgress(options: ProgressOptions, { stderr }: Pick<Terminal, 'stderr'>): Progress {
  if (stderr.isTTY) return startBar(options, stderr);
  const lines = pacedLines(stderr);
  const { update } = lines.start(options);
  return { update, stop: lines.end };
}

function startBar({ label, total, unit, before = 0 }: ProgressOptions, stream: Stream): Progress {
  const rate = rateSince(before);
  const bar = new SingleBar(
    {
      format: `${label} [{bar}] {value}/{total} ${unit} · {rate}/s · {eta_formatted} left {note}`,
      stream,
      hideCursor: true,
      etaBuffer: 50,
    },
    Presets.rect,
  );
  bar.start(total, before, { rate: '0', note: '' });
  return {
    update: (done, note = '') => bar.update(done, { rate: rate(done).toFixed(1), note }),
    stop: () => bar.stop(),
  };
}

const lineEveryMs = 5000;

/**
 * Lines for files and pipes: however many stages a piece of work goes through, there is at most one line every five seconds,
 * and one at the end that says how far the last stage came.
 */
function pacedLines(stderr: Stream) {
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
  return (done) => ((done - before) * 1000) / Math.max(1, performance.now() - startedMs);
}

const units: Readonly<Record<string, string>> = { training: 'iterations', 'judging prefixes': 'prefixes' };

/** What a command shows of work that goes through named stages: one bar after the other, or lines now and then. */
export function stageProgress(
  title: string,
  { stderr }: Pick<Terminal, 'stderr'>,
): Pick<WorkContext, 'onProgress' | 'onNote'> & { done(): void } {
  const lines = stderr.isTTY ? null : pacedLines(stderr);
  let stage: { name: string; progress: Progress } | null = null;
  const close = () => {
    stage?.progress.stop();
    stage = null;
  };
  return {
    onProgress(name, done, total, note) {
      if (stage?.name !== name) {
        close();
        // The first report comes with the first item, or with all that an earlier process did.
        const before = done <= 1 ? 0 : done;
        const options = { label: `${title}: ${name}`, total, unit: units[name] ?? 'steps', before };
        stage = { name, progress: lines?.start(options) ?? startBar(options, stderr) };
      }
      stage.progress.update(done, note);
      if (done >= total) close();
    },
    onNote: (line) => void stderr.write(`earshot: ${line}\n`),
    done() {
      close();
      lines?.end();
    },
  };
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
