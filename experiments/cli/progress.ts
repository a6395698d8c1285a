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
