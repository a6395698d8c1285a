import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Terminal } from '../../../experiments/cli/terminal.ts';
import { trialsProgress } from '../../../experiments/cli/trials-progress.ts';
import { trialsOf } from '../../../experiments/kinds/experiment-kind.ts';
import type { RunTrial, Trial, TrialOutcome } from '../../../experiments/run/trial.ts';
import { planned } from '../sweep/tiny-sweep.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

class Stderr extends Writable {
  readonly isTTY: boolean;
  readonly columns = 120;
  readonly rows = 24;
  text = '';
  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }
  override _write(chunk: unknown, _: string, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

const failure = { how: 'failed', severity: 1, message: 'no room' } as const;

/** A trial that the test moves on. */
function watchable(label: string) {
  const trial: Trial = {
    kind: 'stop-agent',
    config: {},
    seed: 1,
    label,
    directory: label,
    runs: '',
    detectorKey: null,
    backend: null,
  };
  let tell: (done: number) => void = () => {};
  let end: (outcome: TrialOutcome) => void = () => {};
  const run: RunTrial = (_, watch) => {
    tell = (done) => watch?.onProgress?.('training', done, 100);
    return new Promise((resolve) => {
      end = resolve;
    });
  };
  return { trial, run, tell: (done: number) => tell(done), fail: () => end(failure) };
}

async function watched(isTTY: boolean) {
  const stderr = new Stderr(isTTY);
  const plan = await planned();
  const terminal: Terminal = {
    words: [],
    stdin: process.stdin,
    stdout: stderr,
    stderr,
    interruptSignal: () => new AbortController().signal,
    onHangUp: () => () => {},
  };
  return {
    stderr,
    progress: trialsProgress(plan, { trials: trialsOf(plan), terminal, signal: new AbortController().signal }),
  };
}

it('tells a pipe once a minute how far the trials are, and how long yet', async () => {
  const { stderr, progress } = await watched(false);
  const trials = Array.from({ length: 15 }, (_, index) => watchable(`alpha=0.6, seed ${index + 1}`));
  progress.onTrials({ done: 0, total: 30 });
  const outcomes = trials.map(({ run, trial }) => progress.watching(run)(trial));
  for (let iteration = 0; iteration <= 100; iteration++) {
    vi.advanceTimersByTime(8000);
    for (const { tell } of trials) tell(iteration);
  }
  const lines = stderr.text.trimEnd().split('\n');
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toMatch(
    /^tiny-sweep: 0\/30 trials · 1\.\d\/min · \d+ min left · 15 under way, the first at training \d+\/100$/,
  );
  for (const { fail } of trials) fail();
  await Promise.all(outcomes);
  for (const { trial } of trials) progress.onFailure(trial.label, failure);
  vi.advanceTimersByTime(5000);
  progress.onTrials({ done: 15, total: 30 });
  expect(stderr.text).toContain('earshot: failed: alpha=0.6, seed 1: no room\n');
  expect(stderr.text.trimEnd().split('\n').at(-1)).toMatch(
    /^tiny-sweep: 15\/30 trials · 1\.1\/min · 14 min left · 15 failed$/,
  );
});

it('shows the same on a terminal, each trial on a line of its own', async () => {
  const { stderr, progress } = await watched(true);
  const { trial, run, tell, fail } = watchable('alpha=0.6, seed 1');
  progress.onTrials({ done: 0, total: 2 });
  const outcome = progress.watching(run)(trial);
  for (let iteration = 0; iteration <= 50; iteration++) {
    vi.advanceTimersByTime(6000);
    tell(iteration);
  }
  progress.onNote('a note');
  const [, frame] = stderr.text.split('earshot: a note\n');
  expect(frame).toMatch(/tiny-sweep: 0\/2 trials · \d+ min each · 15 min left\n/);
  expect(frame).toContain('  alpha=0.6, seed 1: training: 50/100 iterations · 10.0/min · 5 min left\n');
  fail();
  await outcome;
  progress.onFailure('alpha=0.6, seed 1', failure);
  progress.onTrials({ done: 1, total: 2 });
  progress.stop();
  expect(stderr.text).toContain('1/2 trials');
  expect(stderr.text).toContain('· 1 failed');
});
