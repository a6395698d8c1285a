import { createLogUpdate } from 'log-update';
import type { Terminal } from './terminal.ts';

/** How one piece of work stands. */
export interface LiveState {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  readonly unit: string;
  /** Items that were done before the work began; the rate does not count them. */
  readonly before: number;
  readonly note: string;
  /** What was measured last, by its name, such as macro-F1. */
  readonly measured: Readonly<Record<string, number>>;
  /** The first of these measures over time, for the sparkline. */
  readonly curve: readonly number[];
  readonly startedMs: number;
}

/** Some pieces of work, each on a line that is redrawn in place. */
export interface LiveLines {
  /** Shows a piece of work under a key; lines stand in the order in which their keys came. */
  show(key: string, state: LiveState): void;
  remove(key: string): void;
  /** A line that stays, above the others. */
  note(line: string): void;
  /** Leaves what is shown standing; nothing is drawn afterwards. */
  stop(): void;
}

/** Faster than this nobody reads, and drawing costs time. */
const drawEveryMs = 100;

/** The first item comes at once; a rate of less time than this says nothing. */
export const soonestRateMs = 200;

/** Lines for a terminal. It has a cursor and a width; no colour is used. */
export function liveLines({ stderr }: Pick<Terminal, 'stderr'>): LiveLines {
  const screen = createLogUpdate(stderr);
  const shown = new Map<string, LiveState>();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  const draw = () => {
    drawnMs = performance.now();
    const width = (stderr.columns ?? 80) - 1;
    screen([...shown.values()].map((state) => liveLine(state, { width, nowMs: drawnMs })).join('\n'));
  };
  return {
    show(key, state) {
      const isNews = !shown.has(key) || state.done >= state.total;
      shown.set(key, state);
      if (!isStopped && (isNews || performance.now() - drawnMs >= drawEveryMs)) draw();
    },
    remove(key) {
      if (shown.delete(key) && !isStopped) draw();
    },
    note(line) {
      if (isStopped) stderr.write(`${line}\n`);
      else screen.persist(line);
      if (!isStopped && shown.size > 0) draw();
    },
    stop() {
      if (isStopped) return;
      if (shown.size > 0) draw();
      isStopped = true;
      screen.done();
    },
  };
}

/**
 * One line: `label ████░░░░ 120/300 iterations · 5.9/s · 31 s left · macro-F1 0.712 ER 0.430 ▁▃▅▆`. Where it is too long, the bar
 * goes first, then the sparkline, the rate, the unit; the label is cut at last.
 */
export function liveLine(state: LiveState, { width, nowMs }: { width: number; nowMs: number }): string {
  const { label, done, total, unit, before, note, measured, curve, startedMs } = state;
  const elapsedMs = nowMs - startedMs;
  const perSecond = elapsedMs < soonestRateMs ? 0 : ((done - before) * 1000) / elapsedMs;
  const isMoving = perSecond > 0 && done < total;
  const values = Object.entries(measured).map(([name, value]) => `${name} ${value.toFixed(3)}`);
  const parts = [
    { text: `${done}/${total}`, rank: 0 },
    { text: unit, rank: 3 },
    { text: isMoving ? `· ${rateText(perSecond)}` : '', rank: 4 },
    { text: isMoving ? `· ${duration((total - done) / perSecond)} left` : '', rank: 1 },
    { text: values.length === 0 ? '' : `· ${values.join(' ')}`, rank: 2 },
    { text: sparkline(curve), rank: 5 },
    { text: note === '' ? '' : `· ${note}`, rank: 1 },
    { text: bar(done / Math.max(1, total)), rank: 6 },
  ].filter(({ text }) => text !== '');
  const line = () => [label, ...parts.map(({ text }) => text)].join(' ');
  while ([...line()].length > width && parts.length > 1) {
    const least = Math.max(...parts.map(({ rank }) => rank));
    if (least === 0) break;
    parts.splice(
      parts.findLastIndex(({ rank }) => rank === least),
      1,
    );
  }
  const tail = parts.map(({ text }) => text).join(' ');
  const room = Math.max(1, width - [...tail].length - 1);
  const name = [...label].length > room ? `${[...label].slice(0, room - 1).join('')}…` : label;
  return [...`${name} ${tail}`].slice(0, width).join('');
}

/** Eight heights, from the least to the largest of the values; '' for fewer than two. */
export function sparkline(values: readonly number[]): string {
  if (values.length < 2) return '';
  const last = values.slice(-sparklineWidth);
  const low = Math.min(...last);
  const span = Math.max(...last) - low;
  return last.map((value) => heights[span === 0 ? 3 : Math.round(((value - low) / span) * 7)]).join('');
}

const sparklineWidth = 16;
const heights = '▁▂▃▄▅▆▇█';
const barWidth = 16;

function bar(share: number): string {
  const full = Math.round(Math.min(1, share) * barWidth);
  return '█'.repeat(full) + '░'.repeat(barWidth - full);
}

function rateText(perSecond: number): string {
  return perSecond >= 1 ? `${perSecond.toFixed(1)}/s` : `${(60 * perSecond).toFixed(1)}/min`;
}

/** `45 s`, `12 min`, `3.5 h`. */
function duration(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6000 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
