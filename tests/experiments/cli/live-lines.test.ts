import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type LiveState, liveLine, liveLines, sparkline } from '../../../experiments/cli/live-lines.ts';

const state: LiveState = {
  label: '[1/2] paper, seed 1: training',
  done: 120,
  total: 300,
  unit: 'iterations',
  underWay: 0,
  perSecond: 5,
  note: '',
  measured: { 'macro-F1': 0.7123, ER: 0.43 },
  curve: [0.5, 0.6, 0.7],
};
const at = (width: number, parts: Partial<LiveState> = {}) => liveLine({ ...state, ...parts }, { width });

describe('a line of the live view', () => {
  it('says how far, how fast, how long yet, and what was measured', () => {
    expect(at(120)).toBe(
      '[1/2] paper, seed 1: training 120/300 iterations · 5.0/s · 36 s left · macro-F1 0.712 ER 0.430 ▁▅█ ██████░░░░░░░░░░',
    );
  });

  it('fits every width, and keeps longest how far it came', () => {
    for (let width = 10; width <= 130; width++) expect([...at(width)].length).toBeLessThanOrEqual(width);
    expect(at(80)).toBe('[1/2] paper, seed 1: training 120/300 · 36 s left · macro-F1 0.712 ER 0.430 ▁▅█');
    // As much of a long curve as there is room for, if that is three values at least.
    const curve = Array.from({ length: 16 }, (_, index) => index % 8);
    expect(at(83, { curve })).toBe(
      '[1/2] paper, seed 1: training 120/300 · 36 s left · macro-F1 0.712 ER 0.430 ▁▂▃▅▆▇█',
    );
    expect(at(78, { curve })).toBe('[1/2] paper, seed 1: training 120/300 · 36 s left · macro-F1 0.712 ER 0.430');
    expect(at(40)).toBe('[1/2] paper, seed 1: training 120/300');
    expect(at(20)).toBe('[1/2] paper… 120/300');
  });

  it('shows failures and cost while there is room', () => {
    expect(at(100, { note: '2 failed, cost 0.1200', measured: {}, curve: [] })).toContain('· 2 failed, cost 0.1200');
  });

  it('leaves all but the count out before a note, and cuts that', () => {
    const note = 'waiting 12 s for endpoint scripted (status 429, asks to wait 60 s)';
    const judging = { label: 'threads.jsonl: judging prefixes', done: 20, total: 100, measured: {}, curve: [], note };
    expect(at(80, { ...judging, perSecond: null })).toBe(
      'threads.jsonl: judging prefixes 20/100 · waiting 12 s for endpoint scripted (st…',
    );
    expect(at(40, judging)).toBe('threads.jsonl: judging prefixes 20/100');
  });

  it('counts slow work by the minute and long work by the hour', () => {
    expect(at(120, { done: 21, curve: [], perSecond: 0.05 })).toContain('3.0/min · 93 min left');
    const trials = { unit: 'trials', done: 16, total: 21, curve: [], measured: {}, perSecond: 1 / 1680 };
    expect(at(120, trials)).toContain('16/21 trials · 28 min each · 2 h 20 min left');
  });

  it('counts what is done of items under way to the bar and the time left, and says no time where no rate is known', () => {
    const trials = { unit: 'trials', done: 2, total: 8, curve: [], measured: {}, perSecond: 0.5 };
    expect(at(120, { ...trials, underWay: 2 })).toContain('2/8 trials · 30.0/min · 8 s left ████████░░░░░░░░');
    expect(at(120, { ...trials, perSecond: null })).toMatch(/2\/8 trials [█░]+$/);
  });
});

it('draws a sparkline between the least and the largest of the last values', () => {
  expect([sparkline([1]), sparkline([1, 1]), sparkline([0, 1, 2])]).toEqual(['', '▄▄', '▁▅█']);
});

describe('lines that are redrawn', () => {
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

  it('keeps notes, draws over the rest, uses no colour, and draws nothing once it has stopped', () => {
    const stderr = new Screen();
    const lines = liveLines({ stderr });
    lines.show('a', { ...state, done: 1 });
    lines.note('earshot: resuming');
    lines.show('a', { ...state, done: 300 });
    expect(stderr.text).toContain('earshot: resuming\n');
    expect(stderr.text).toContain('300/300');
    lines.stop();
    const { length } = stderr.text;
    lines.show('a', { ...state, done: 200 });
    lines.stop();
    expect(stderr.text).toHaveLength(length);
    const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`);
    expect(stderr.text).not.toMatch(colour);
  });

  it('keep to the height of the terminal, the first of them first', () => {
    const stderr = new Screen();
    const lines = liveLines({ stderr });
    for (let trial = 1; trial <= 40; trial++) lines.show(`${trial}`, { ...state, label: `trial ${trial}` });
    // After a note, all is drawn again.
    lines.note('a note');
    const [, frame] = stderr.text.split('a note\n');
    const last = frame.split('\n').slice(0, -1);
    expect(last).toHaveLength(stderr.rows - 1);
    expect(last.at(-2)).toMatch(/^trial 22 /);
    expect(last.at(-1)).toMatch(/^ {2}… and 18 more under way/);
  });

  it('leave a note as it is, however long', () => {
    const stderr = new Screen();
    const lines = liveLines({ stderr });
    lines.show('a', state);
    const note = `earshot: ${'word '.repeat(500)}end`;
    lines.note(note);
    expect(stderr.text).toContain(`${note}\n`);
  });

  it('leave nothing behind when the last of them is removed', () => {
    const stderr = new Screen();
    const lines = liveLines({ stderr });
    lines.show('a', state);
    lines.remove('a');
    const { length } = stderr.text;
    lines.stop();
    expect(stderr.text.slice(length)).not.toContain('\n');
    expect(stderr.text.slice(0, length).endsWith('\n')).toBe(false);
  });
});
