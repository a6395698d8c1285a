import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMetricsLog, readMetrics } from '../../checkpoints/metrics-log.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const fresh = () => join(temporaryFolder(), 'metrics.jsonl');
const lineAt = (step: number) => ({ step, loss: 1 / (step + 1), 'agent 0/entropy': 0.1 * step });

function log(path: string, { from, to, resumeStep }: { from: number; to: number; resumeStep: number | null }): void {
  const metrics = openMetricsLog(path, { resumeStep });
  for (let step = from; step <= to; step++) {
    metrics.append(lineAt(step));
    if (step % 5 === 0) metrics.append({ step, macroF1: step / 100 });
  }
  metrics.sync();
  metrics.close();
}

it('reads back what was appended', () => {
  const path = fresh();
  log(path, { from: 1, to: 5, resumeStep: null });
  expect(readFileSync(path, 'utf8').split('\n')[0]).toBe('{"step":1,"loss":0.5,"agent 0/entropy":0.1}');
  expect(readMetrics(path)).toEqual([...[1, 2, 3, 4, 5].map(lineAt), { step: 5, macroF1: 0.05 }]);
});

it('is the same, byte for byte, for a run that was stopped, cut off in a line, and resumed from a checkpoint', () => {
  const whole = fresh();
  log(whole, { from: 1, to: 20, resumeStep: null });
  for (const stoppedAt of [10, 11, 14]) {
    const path = fresh();
    log(path, { from: 1, to: stoppedAt, resumeStep: null });
    appendFileSync(path, '{"step":15,"lo');
    log(path, { from: 11, to: 20, resumeStep: 10 });
    expect(readFileSync(path, 'utf8')).toBe(readFileSync(whole, 'utf8'));
  }
});

it('starts empty when nothing is resumed, and where nothing was logged yet', () => {
  const path = fresh();
  log(path, { from: 1, to: 3, resumeStep: 4 });
  log(path, { from: 1, to: 2, resumeStep: null });
  expect(readMetrics(path).map(({ step }) => step)).toEqual([1, 2]);
});

it('keeps numbers that are not finite', () => {
  const path = fresh();
  const line = { step: 1, loss: Number.NaN, kl: Number.POSITIVE_INFINITY, gain: Number.NEGATIVE_INFINITY };
  const metrics = openMetricsLog(path, { resumeStep: null });
  metrics.append(line);
  metrics.close();
  expect(readFileSync(path, 'utf8')).toBe('{"step":1,"loss":"NaN","kl":"Infinity","gain":"-Infinity"}\n');
  expect(readMetrics(path)).toEqual([line]);
});

it('refuses steps out of order, also right after resuming', () => {
  const path = fresh();
  log(path, { from: 1, to: 6, resumeStep: null });
  const metrics = openMetricsLog(path, { resumeStep: 4 });
  expect(() => metrics.append({ step: 3 })).toThrow(
    /step 3 cannot be logged to .* after step 4; log whole steps in order/,
  );
  expect(() => metrics.append({ step: 4.5 })).toThrow('step 4.5 cannot be logged');
  metrics.append({ step: 4 });
  metrics.close();
});

it('names the line that cannot be read', () => {
  const path = fresh();
  writeFileSync(path, '{"step":1}\nstep 2\n{"step":3}\n');
  expect(() => readMetrics(path)).toThrow(
    `${path}, line 2, was made by another version of Earshot, or is damaged (it is not JSON: step 2): run again`,
  );
  expect(() => openMetricsLog(path, { resumeStep: 3 })).toThrow(`${path}, line 2, was made by`);
  writeFileSync(path, '{"step":1}\n{"loss":3}\n');
  expect(() => readMetrics(path)).toThrow(/line 2, .*step: .*expected number/);
  writeFileSync(path, '{"step":1,"loss":"low"}\n');
  expect(() => readMetrics(path)).toThrow(/line 1, .*loss: /);
});

it('says what to do where the file cannot be had', () => {
  const missing = join(temporaryFolder(), 'missing', 'metrics.jsonl');
  expect(() => readMetrics(missing)).toThrow(/cannot read the log .*\(ENOENT\): there is no such file or folder/);
  expect(() => openMetricsLog(missing, { resumeStep: null })).toThrow(/cannot open the log .*\(ENOENT\)/);
});

// Every write to this device is refused as by a full disk.
it.skipIf(process.platform !== 'linux')('says so when the disk is full', () => {
  const metrics = openMetricsLog('/dev/full', { resumeStep: null });
  expect(() => metrics.append({ step: 1, loss: 0.5 })).toThrow(
    'cannot append 22 bytes to /dev/full (ENOSPC): the disk is full; free some space or choose a folder on another disk',
  );
  metrics.close();
});
