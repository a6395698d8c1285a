import { Presets, SingleBar } from 'cli-progress';
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
  /** Done already when the work begins; left out of the rate. */
  readonly before?: number;
  readonly stderr: Terminal['stderr'];
}

/** A bar with rate and time left on a terminal, one line every five seconds elsewhere; both on stderr. */
export function startProgress(options: ProgressOptions): Progress {
  return options.stderr.isTTY ? startBar(options) : startLines(options);
}

function startBar({ label, total, unit, before = 0, stderr }: ProgressOptions): Progress {
  const rate = rateSince(before);
  const bar = new SingleBar(
    {
      format: `${label} [{bar}] {value}/{total} ${unit} · {rate}/s · {eta_formatted} left {note}`,
      stream: stderr,
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

/** For files and pipes; there is always a last line. */
function startLines({ label, total, unit, before = 0, stderr }: ProgressOptions): Progress {
  const rate = rateSince(before);
  let shownMs = performance.now();
  let current = { done: before, note: '' };
  const show = () => {
    const { done, note } = current;
    const perSecond = rate(done);
    const speed = perSecond > 0 ? ` · ${perSecond.toFixed(1)}/s` : '';
    const left = perSecond > 0 && done < total ? ` · ${Math.ceil((total - done) / perSecond)} s left` : '';
    stderr.write(`${`${label}: ${done}/${total} ${unit}${speed}${left} ${note}`.trimEnd()}\n`);
    shownMs = performance.now();
  };
  return {
    update(done, note = '') {
      current = { done, note };
      if (performance.now() - shownMs >= lineEveryMs) show();
    },
    stop: show,
  };
}

function rateSince(before: number): (done: number) => number {
  const startedMs = performance.now();
  return (done) => ((done - before) * 1000) / Math.max(1, performance.now() - startedMs);
}

const units: Readonly<Record<string, string>> = { training: 'iterations', 'judging prefixes': 'prefixes' };

/** One bar after the other for work that goes through named stages. */
export function stageProgress(title: string, { stderr }: Terminal) {
  let stage: { name: string; progress: Progress } | null = null;
  const close = () => {
    stage?.progress.stop();
    stage = null;
  };
  return {
    onStage(name: string, done: number, total: number): void {
      if (stage?.name !== name) {
        close();
        const label = `${title}: ${name}`;
        // The first report comes with the first item, or with all that an earlier process did.
        const before = done <= 1 ? 0 : done;
        stage = { name, progress: startProgress({ label, total, unit: units[name] ?? 'steps', before, stderr }) };
      }
      stage?.progress.update(done);
      if (done >= total) close();
    },
    onNote: (line: string): void => void stderr.write(`earshot: ${line}\n`),
    done: close,
  };
}
