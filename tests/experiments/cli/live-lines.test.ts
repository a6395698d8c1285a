import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type LiveState, liveLine, liveLines, sparkline } from '../../../experiments/cli/live-lines.ts';

const state: LiveState = {
  label: '[1/2] paper, seed 1: training',
  done: 120,
  total: 300,
  unit: 'iterations',
  before: 20,
  note: '',
  measured: { 'macro-F1': 0.7123, ER: 0.43 },
  curve: [0.5, 0.6, 0.7],
  startedMs: 0,
};
/** 100 iterations in 20 s. */
const at = (width: number, parts: Partial<LiveState> = {}) =>
  liveLine({ ...state, ...parts }, { width, nowMs: 20_000 });

describe('a line of the live view', () => {
  it('says how far, how fast, how long yet, and what was measured', () => {
    expect(at(120)).toBe(
      '[1/2] paper, seed 1: training 120/300 iterations · 5.0/s · 36 s left · macro-F1 0.712 ER 0.430 ▁▅█ ██████░░░░░░░░░░',
    );
  });

  it('fits every width, and keeps longest how far it came', () => {
    for (let width = 10; width <= 130; width++) expect([...at(width)].length).toBeLessThanOrEqual(width);
    expect(at(80)).toBe('[1/2] paper, seed 1: training 120/300 · 36 s left · macro-F1 0.712 ER 0.430');
    expect(at(40)).toBe('[1/2] paper, seed 1: training 120/300');
    expect(at(20)).toBe('[1/2] paper… 120/300');
  });

  it('shows failures and cost while there is room', () => {
    expect(at(100, { note: '2 failed, cost 0.1200', measured: {}, curve: [] })).toContain('· 2 failed, cost 0.1200');
  });

  it('counts slow work by the minute and long work by the hour', () => {
    expect(at(120, { done: 21, curve: [] })).toContain('3.0/min · 93 min left');
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
});
