import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  /** `done` of `total` are finished; `note` is shown at the end of the line. */
  update(done: number, note?: string): void;
  stop(): void;
}

/** A bar with rate and time left on a terminal, one line every five seconds elsewhere; both on stderr. */
export function startProgress(options: { label: string; total: number; unit: string }): Progress {
  const startedMs = performance.now();
  let current = 0;
  const rate = () => ((current * 1000) / Math.max(1, performance.now() - startedMs)).toFixed(1);
  const bar = new SingleBar(
    {
      format: `${options.label} [{bar}] {value}/{total} ${options.unit} · {rate}/s · {eta_formatted} left {note}`,
      stream: process.stderr,
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      etaBuffer: 50,
    },
    Presets.rect,
  );
  bar.start(options.total, 0, { rate: '0', note: '' });
  return {
    update(done, note = '') {
      current = done;
      bar.update(done, { rate: rate(), note });
    },
    stop: () => bar.stop(),
  };
}

const units: Readonly<Record<string, string>> = { training: 'iterations', 'judging prefixes': 'prefixes' };

/** One bar after the other for work that goes through named stages. */
export function stageProgress(title: string) {
  let stage: { name: string; progress: Progress } | null = null;
  const close = () => {
    stage?.progress.stop();
    stage = null;
  };
  return {
    onStage(name: string, done: number, total: number): void {
      if (stage?.name !== name) {
        close();
        stage = { name, progress: startProgress({ label: `${title}: ${name}`, total, unit: units[name] ?? 'steps' }) };
      }
      stage?.progress.update(done);
      if (done === total) close();
    },
    onNote: (line: string): void => void process.stderr.write(`earshot: ${line}\n`),
    done: close,
  };
}
