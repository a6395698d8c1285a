import { createLogUpdate } from 'log-update';
import { visibleText } from '../report/terminal-text.ts';
import { duration, rateText } from './pace.ts';
import { drawnStream, type Terminal } from './terminal.ts';

export interface LiveState {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  readonly unit: string;
  /** Progress of unfinished items, in items: half of the iterations of four trials are two trials. */
  readonly underWay: number;
  /** Items per second; null until it is measured. */
  readonly perSecond: number | null;
  readonly note: string;
  /** The latest measurements by name, such as macro-F1. */
  readonly measured: Readonly<Record<string, number>>;
  /** The first of these measures over time, for the sparkline. */
  readonly curve: readonly number[];
}

export interface LiveLines {
  /** Shows a piece of work under a key; lines stand in the order in which their keys came. */
  show(key: string, state: LiveState): void;
  remove(key: string): void;
  /** A line that stays, above the others. */
  note(line: string): void;
  /** Ends the drawing and leaves the lines on the screen. */
  stop(): void;
}

/** Redrawing costs time, and readers see no faster change. */
const drawEveryMs = 100;

/** Redrawn lines for a terminal with a cursor and a width, without colour. */
export function liveLines({ stderr }: Pick<Terminal, 'stderr'>): LiveLines {
  const screen = createLogUpdate(drawnStream(stderr));
  const shown = new Map<string, LiveState>();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  const draw = () => {
    drawnMs = performance.now();
    const { columns = 80, rows = 24 } = stderr;
    const texts = Array.from(shown.values(), (state) => liveLine(state, { width: columns - 1 }));
    // The cursor waits on a line of its own. The first line says how the whole stands, so it is the last to go.
    const room = Math.max(2, rows - 1);
    const hidden = texts.length > room ? texts.splice(room - 1).length : 0;
    screen(visibleText([...texts, ...(hidden > 0 ? [`  … and ${hidden} more under way`] : [])].join('\n')));
  };
  return {
    show(key, state) {
      const isNews = !shown.has(key) || state.done >= state.total;
      shown.set(key, state);
      if (!isStopped && (isNews || performance.now() - drawnMs >= drawEveryMs)) draw();
    },
    remove(key) {
      if (!shown.delete(key) || isStopped) return;
      if (shown.size > 0) draw();
      else screen.clear();
    },
    note(line) {
      // Written as it is: the terminal wraps it, and it can be copied as one line.
      if (!isStopped) screen.clear();
      stderr.write(`${line}\n`);
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

const ranks = { count: 0, note: 1, left: 2, measured: 3, curve: 4, unit: 5, rate: 6, bar: 7 };
const fewestOfCurve = 3;
const fewestOfNote = 20;

/**
 * One line: `label 120/300 iterations · 5.9/s · 31 s left · macro-F1 0.712 ER 0.430 ▁▃▅▆ ████░░░░`. On a narrow screen
 * the bar is left out first, and the label is cut last.
 */
export function liveLine(state: LiveState, { width }: { width: number }): string {
  const { label, done, total, unit, underWay, perSecond, note, measured, curve } = state;
  const left = perSecond !== null && done < total ? duration((total - done - underWay) / perSecond) : null;
  const values = Object.entries(measured).map(([name, value]) => `${name} ${value.toFixed(3)}`);
  const parts = [
    { text: `${done}/${total}`, rank: ranks.count },
    { text: unit, rank: ranks.unit },
    { text: perSecond !== null && done < total ? `· ${rateText(perSecond)}` : '', rank: ranks.rate },
    { text: left === null ? '' : `· ${left} left`, rank: ranks.left },
    { text: values.length === 0 ? '' : `· ${values.join(' ')}`, rank: ranks.measured },
    { text: sparkline(curve), rank: ranks.curve },
    { text: note === '' ? '' : `· ${note}`, rank: ranks.note },
    { text: bar((done + underWay) / Math.max(1, total)), rank: ranks.bar },
  ].filter(({ text }) => text !== '');
  const line = () => [label, ...parts.map(({ text }) => text)].join(' ');
  while ([...line()].length > width && parts.length > 1) {
    const least = Math.max(...parts.map(({ rank }) => rank));
    const place = parts.findLastIndex(({ rank }) => rank === least);
    const [{ text, rank }] = parts.splice(place, 1);
    // The last of a curve tell most of it.
    const room = width - [...line()].length - 1;
    if (rank === ranks.curve && room >= fewestOfCurve)
      parts.splice(place, 0, { text: sparkline(curve.slice(-Math.min(room, text.length - 1))), rank });
    if (rank === ranks.note && room >= fewestOfNote) {
      parts.splice(place, 0, { text: `${text.slice(0, room - 1)}…`, rank });
      break;
    }
  }
  const tail = parts.map(({ text }) => text).join(' ');
  const room = Math.max(1, width - [...tail].length - 1);
  const name = [...label].length > room ? `${[...label].slice(0, room - 1).join('')}…` : label;
  return [...`${name} ${tail}`].slice(0, width).join('');
}

/** One of eight heights per value; '' for fewer than two values. */
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
