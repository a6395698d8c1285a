import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Waits } from '../../../experts/llm/waits.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('tells of a wait after 5 s, until it is over', () => {
  const waits = new Waits();
  const over = waits.begin({ kind: 'answer', what: 'an answer' });
  vi.advanceTimersByTime(4999);
  expect(waits.inWords()).toBeNull();
  vi.advanceTimersByTime(1);
  expect(waits.inWords()).toBe('waiting 5 s for an answer');
  over();
  expect(waits.inWords()).toBeNull();
});

it('tells of none while answers come', () => {
  const waits = new Waits();
  waits.begin({ kind: 'answer', what: 'an answer' });
  vi.advanceTimersByTime(9000);
  waits.answered();
  vi.advanceTimersByTime(4000);
  expect(waits.inWords()).toBeNull();
  vi.advanceTimersByTime(1000);
  expect(waits.inWords()).toBe('waiting 14 s for an answer');
});

it('tells first what the others wait for as well, and forgets what is over by itself', () => {
  const waits = new Waits();
  waits.begin({ kind: 'answer', what: 'an answer' });
  vi.advanceTimersByTime(2000);
  waits.begin({ kind: 'endpoint', what: 'endpoint x', forMs: 10_000 });
  vi.advanceTimersByTime(6000);
  expect(waits.inWords()).toBe('waiting 6 s for endpoint x');
  vi.advanceTimersByTime(4000);
  expect(waits.inWords()).toBe('waiting 12 s for an answer');
});
