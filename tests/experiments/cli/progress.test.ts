import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openProgress, progressText } from '../../../experiments/cli/progress.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a line', () => {
  const training = { stage: 'training', done: 120, total: 300, perSecond: 5 };
  const at = (width: number, stand: Partial<Parameters<typeof progressText>[1]> = {}) =>
    progressText('[1/2] paper, seed 1', { ...training, width, ...stand });

  it('says how far, how fast, how long yet, and what else there is to say', () => {
    expect(at(120, { note: 'a note' })).toBe(
      '[1/2] paper, seed 1: training: 120/300 iterations · 5.0/s · 36 s left · a note',
    );
  });

  it('counts the stage of a part as the stage', () => {
    expect(at(120, { stage: 'fold 1 of 5: training' })).toContain('fold 1 of 5: training: 120/300 iterations');
  });

  it('fits every width, and keeps longest how far it came', () => {
    for (let width = 1; width <= 130; width++) expect([...at(width)].length).toBeLessThanOrEqual(width);
    expect(at(70)).toBe('[1/2] paper, seed 1: training: 120/300 iterations · 5.0/s · 36 s left');
    expect(at(60)).toBe('[1/2] paper, seed 1: training: 120/300 iterations · 5.0/s ·…');
    expect(at(40)).toBe('[1/2] paper, seed 1…: 120/300 iteration…');
  });

  it('counts slow work by the minute and long work by the hour', () => {
    expect(at(120, { done: 21, perSecond: 0.05 })).toContain('3.0/min · 93 min left');
    const trials = { stage: 'trials', done: 16, total: 21, perSecond: 1 / 1680 };
    expect(at(120, trials)).toBe('[1/2] paper, seed 1: 16/21 trials · 28 min each · 2 h 20 min left');
  });

  it('counts what is done of items under way to the time left, and says no time where no rate is known', () => {
    const trials = { stage: 'trials', done: 2, total: 8, perSecond: 0.5, underWay: 2 };
    expect(at(120, trials)).toContain('2/8 trials · 30.0/min · 8 s left');
    expect(at(120, { ...trials, perSecond: null })).toMatch(/2\/8 trials$/);
  });
});

describe('lines of a file', () => {
  let written: string[];
  const stderr = new Writable({
    write(chunk, _, done) {
      written.push(String(chunk));
      done();
    },
  });
  beforeEach(() => {
    written = [];
  });

  it('leave out work of which there is none', () => {
    const { line, stop } = openProgress({ stderr });
    line('run').see('judging prefixes', { done: 0, total: 0 });
    stop();
    expect(written).toEqual([]);
  });

  it('come every five seconds at most, however many stages there are, and the last one', () => {
    const { line, stop } = openProgress({ stderr });
    const { see } = line('run');
    for (let epoch = 1; epoch <= 30; epoch++)
      for (const stage of ['selecting', 'tuning']) {
        vi.advanceTimersByTime(500);
        see(`${stage}, epoch ${epoch}`, { done: 24, total: 24 });
      }
    expect(written).toHaveLength(6);
    expect(written[0]).toMatch(/^run: tuning, epoch 5: 24\/24 steps/);
    see('testing', { done: 3, total: 12 });
    stop();
    expect(written.slice(6)).toEqual([expect.stringMatching(/^run: testing: 3\/12 runs/)]);
  });

  it('end with nothing more when the last line stands there already', () => {
    const { line, stop } = openProgress({ stderr });
    vi.advanceTimersByTime(6000);
    line('run').see('testing', { done: 12, total: 12 });
    stop();
    expect(written).toHaveLength(1);
  });

  it('say of slow work how long an item takes and how long yet, and what is under way less often', () => {
    const { see } = openProgress({ stderr }).line('ratios');
    see('trials', { done: 15, total: 45 });
    for (let minute = 1; minute <= 28; minute++) {
      vi.advanceTimersByTime(60_000);
      see('trials', { done: 15, total: 45, underWay: minute / 28, note: `iteration ${minute}` }, 120_000);
    }
    expect(written).toHaveLength(14);
    see('trials', { done: 16, total: 45 });
    vi.advanceTimersByTime(5000);
    see('trials', { done: 16, total: 45 });
    expect(written.at(-2)).toBe('ratios: 15/45 trials · 28 min each · 13 h 32 min left · iteration 28\n');
    expect(written.at(-1)).toBe('ratios: 16/45 trials · 28 min each · 13 h 32 min left\n');
  });
});

describe('lines of a terminal', () => {
  class Screen extends Writable {
    readonly isTTY = true;
    readonly columns = 60;
    readonly rows = 24;
    text = '';
    override _write(chunk: unknown, _: string, done: () => void): void {
      this.text += String(chunk);
      done();
    }
  }

  it('keep notes, draw over the rest, use no colour, and draw nothing once they have stopped', () => {
    const stderr = new Screen();
    const { line, note, stop } = openProgress({ stderr });
    const { see } = line('a');
    see('training', { done: 1, total: 300 });
    note('resuming');
    see('training', { done: 300, total: 300 });
    expect(stderr.text).toContain('earshot: resuming\n');
    expect(stderr.text).toContain('300/300');
    stop();
    const { length } = stderr.text;
    see('training', { done: 200, total: 300 });
    stop();
    expect(stderr.text).toHaveLength(length);
    const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`);
    expect(stderr.text).not.toMatch(colour);
  });

  it('stand still before the message of an interruption', () => {
    const stderr = new Screen();
    const controller = new AbortController();
    const { see } = openProgress({ stderr }, controller.signal).line('a');
    see('training', { done: 1, total: 300 });
    controller.abort();
    const { length } = stderr.text;
    see('training', { done: 300, total: 300 });
    expect(stderr.text).toHaveLength(length);
  });

  it('keep to the height of the terminal, the first of them first', () => {
    const stderr = new Screen();
    const { line, note } = openProgress({ stderr });
    for (let trial = 1; trial <= 40; trial++) line(`trial ${trial}`).see('training', { done: 1, total: 300 });
    // After a note, all is drawn again.
    note('a note');
    const [, frame] = stderr.text.split('a note\n');
    const last = frame.split('\n').slice(0, -1);
    expect(last).toHaveLength(stderr.rows - 1);
    expect(last.at(-2)).toMatch(/^trial 22: /);
    expect(last.at(-1)).toMatch(/^ {2}… and 18 more under way/);
  });

  it('leave a note as it is, however long', () => {
    const stderr = new Screen();
    const { line, note } = openProgress({ stderr });
    line('a').see('training', { done: 1, total: 300 });
    const text = `${'word '.repeat(500)}end`;
    note(text);
    expect(stderr.text).toContain(`earshot: ${text}\n`);
  });

  it('leave nothing behind when the last of them is removed', () => {
    const stderr = new Screen();
    const { line, stop } = openProgress({ stderr });
    const { see, remove } = line('a');
    see('training', { done: 1, total: 300 });
    remove();
    const { length } = stderr.text;
    stop();
    expect(stderr.text.slice(length)).not.toContain('\n');
    expect(stderr.text.slice(0, length).endsWith('\n')).toBe(false);
  });
});
