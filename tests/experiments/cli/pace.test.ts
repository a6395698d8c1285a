import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { duration, paceMeter, rateText } from '../../../experiments/cli/pace.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Items that take so long each; the rates that were seen on the way. */
function rates(meter: ReturnType<typeof paceMeter>, items: { from: number; count: number; ms: number }) {
  return Array.from({ length: items.count }, (_, index) => {
    vi.advanceTimersByTime(items.ms);
    return meter.see(items.from + index + 1);
  });
}

it('counts from where the work is first seen, and needs a while', () => {
  const meter = paceMeter();
  expect(meter.see(200)).toBeNull();
  expect(rates(meter, { from: 200, count: 4, ms: 100 })).toEqual([null, 10, 10, 10]);
});

it('says nothing of the first hundredths of an item, before which all is made ready', () => {
  const meter = paceMeter();
  meter.see(0);
  vi.advanceTimersByTime(8000);
  expect(meter.see(1 / 600)).toBeNull();
  vi.advanceTimersByTime(1000);
  expect(meter.see(0.5)).not.toBeNull();
});

it('forgets what went faster at first, such as answers that were there', () => {
  const meter = paceMeter();
  meter.see(0);
  rates(meter, { from: 0, count: 1000, ms: 1 });
  const slow = rates(meter, { from: 1000, count: 60, ms: 1000 });
  expect(slow.at(-1)).toBeCloseTo(1, 5);
});

it('takes the trials that an earlier command finished for no work of this one', () => {
  const meter = paceMeter();
  for (let done = 1; done <= 30; done++) meter.see(done);
  expect(rates(meter, { from: 30, count: 2, ms: 60_000 })).toEqual([1 / 60, 1 / 60]);
});

it('keeps its rate while nothing ends, unless that lasts, and begins anew where less is done than before', () => {
  const meter = paceMeter();
  meter.see(0);
  rates(meter, { from: 0, count: 3, ms: 1000 });
  vi.advanceTimersByTime(5000);
  expect(meter.see(3)).toBe(1);
  vi.advanceTimersByTime(1);
  expect(meter.see(3)).toBeNull();
  expect(rates(meter, { from: 3, count: 1, ms: 999 })).toEqual([1 / 6]);
  expect(meter.see(0)).toBeNull();
  expect(rates(meter, { from: 0, count: 1, ms: 500 })).toEqual([2]);
});

it('writes rates and times in units that a person would choose', () => {
  expect([250, 5.94, 0.0351, 1 / 28, 1 / 1680].map(rateText)).toEqual([
    '250/s',
    '5.9/s',
    '2.1/min',
    '2.1/min',
    '28 min each',
  ]);
  expect([0.2, 45, 99.5, 720, 5999, 6000, 8400, 7200, 172_000, 273_600].map(duration)).toEqual([
    '1 s',
    '45 s',
    '100 s',
    '12 min',
    '1 h 40 min',
    '1 h 40 min',
    '2 h 20 min',
    '2 h',
    '2 d',
    '3 d 4 h',
  ]);
});
