import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { plainLines, stageProgress, stagesOf } from '../../../experiments/cli/progress.ts';

let written: string[];
const stderr = new Writable({
  write(chunk, _, done) {
    written.push(String(chunk));
    done();
  },
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  written = [];
});
afterEach(() => {
  vi.useRealTimers();
});

it('writes a line every five seconds at most where nobody looks on, however many stages there are, and the last one', () => {
  const { onProgress, done } = stageProgress('run', { stderr });
  for (let epoch = 1; epoch <= 30; epoch++)
    for (const stage of ['selecting', 'tuning']) {
      vi.advanceTimersByTime(500);
      onProgress(`${stage}, epoch ${epoch}`, 24, 24);
    }
  expect(written).toHaveLength(6);
  expect(written[0]).toMatch(/^run: tuning, epoch 5: 24\/24 steps/);
  onProgress('testing', 3, 12);
  done();
  expect(written.slice(6)).toEqual([expect.stringMatching(/^run: testing: 3\/12 runs/)]);
});

it('writes nothing more at the end when the last line stands there already', () => {
  const { onProgress, done } = stageProgress('run', { stderr });
  vi.advanceTimersByTime(6000);
  onProgress('testing', 12, 12);
  done();
  expect(written).toHaveLength(1);
});

it('says of slow work how long an item takes and how long yet, and shows what is under way less often', () => {
  const { see } = stagesOf('ratios', plainLines({ stderr }).show);
  const show = (stand: Parameters<typeof see>[1], everyMs?: number) => see('trials', stand, everyMs);
  show({ done: 15, total: 45 });
  for (let minute = 1; minute <= 28; minute++) {
    vi.advanceTimersByTime(60_000);
    show({ done: 15, total: 45, underWay: minute / 28, note: `· iteration ${minute}` }, 120_000);
  }
  expect(written).toHaveLength(14);
  show({ done: 16, total: 45 });
  vi.advanceTimersByTime(5000);
  show({ done: 16, total: 45 });
  expect(written.at(-2)).toBe('ratios: 15/45 trials · 28 min each · 13 h 32 min left · iteration 28\n');
  expect(written.at(-1)).toBe('ratios: 16/45 trials · 28 min each · 13 h 32 min left\n');
});
