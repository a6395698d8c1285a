import { createLogUpdate } from 'log-update';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { visibleText } from '../report/terminal-text.ts';
import { duration, type Pace, paceMeter, rateText } from './pace.ts';
import { drawnStream, hasScreen, type Terminal } from './terminal.ts';

export interface Stand {
  readonly done: number;
  readonly total: number;
  /** Shown at the end of the line. */
  readonly note?: string;
  /** Progress of unfinished items, in items: half of the iterations of four trials are two trials. */
  readonly underWay?: number;
}

/** Redrawing costs time, and readers see no faster change. */
const drawEveryMs = 100;
const writeEveryMs = 5000;

/**
 * Progress on stderr. A terminal with a cursor and a width has a line for each piece of work, which is redrawn. A file or a pipe gets
 * at most one line every five seconds, and the last one.
 * @param signal ends the drawing before the message of an interruption
 */
export function openProgress({ stderr }: Pick<Terminal, 'stderr'>, signal?: AbortSignal) {
  const screen = hasScreen({ stderr }) ? createLogUpdate(drawnStream(stderr)) : null;
  const lines = new Map<string, (width: number) => string>();
  let pending: string | null = null;
  let shownMs = performance.now();
  let isStopped = false;

  function draw(): void {
    shownMs = performance.now();
    if (screen === null) {
      if (pending !== null) stderr.write(`${pending}\n`);
      pending = null;
      return;
    }
    const { columns = 80, rows = 24 } = stderr;
    const texts = Array.from(lines.values(), (textIn) => textIn(columns - 1));
    // The cursor waits on a line of its own. The first line says how the whole stands, so it is the last to go.
    const room = Math.max(2, rows - 1);
    const hidden = texts.length > room ? texts.splice(room - 1).length : 0;
    screen(visibleText([...texts, ...(hidden > 0 ? [`  … and ${hidden} more under way`] : [])].join('\n')));
  }

  const stop = () => {
    if (isStopped) return;
    if (screen === null || lines.size > 0) draw();
    isStopped = true;
    screen?.done();
  };
  signal?.addEventListener('abort', stop, { once: true });

  return {
    isDrawn: screen !== null,
    /** The line of a piece of work that goes through named stages. Lines stand in the order in which they were first seen. */
    line(title: string) {
      let stage: { name: string; pace: Pace } | null = null;
      return {
        /** @param everyMs least time between two lines of a file */
        see(name: string, stand: Stand, everyMs = writeEveryMs): void {
          if (isStopped || stand.total === 0) return;
          if (stage?.name !== name) stage = { name, pace: paceMeter() };
          const perSecond = stage.pace.see(stand.done + (stand.underWay ?? 0));
          const textIn = (width: number) => progressText(title, { ...stand, stage: name, perSecond, width });
          const isNews = screen !== null && (!lines.has(title) || stand.done >= stand.total);
          if (screen === null) pending = textIn(Number.POSITIVE_INFINITY);
          else lines.set(title, textIn);
          if (isNews || performance.now() - shownMs >= (screen === null ? everyMs : drawEveryMs)) draw();
        },
        remove(): void {
          if (!lines.delete(title) || isStopped) return;
          if (lines.size > 0) draw();
          else screen?.clear();
        },
      };
    },
    /** A line that stays, above the others. It is written as it is: the terminal wraps it, and it can be copied as one line. */
    note(line: string): void {
      if (!isStopped) screen?.clear();
      notesTo({ stderr })(line);
      if (!isStopped && lines.size > 0) draw();
    },
    /** Ends the drawing and leaves the lines on the screen. */
    stop,
  };
}

const units: Readonly<Record<string, string>> = {
  training: 'iterations',
  testing: 'runs',
  'judging prefixes': 'prefixes',
  trials: 'trials',
};

/** `paper: training: 120/300 iterations · 5.9/s · 31 s left · a note`. Where it is too wide, the title is cut, then the end. */
export function progressText(
  title: string,
  of: Stand & { stage: string; perSecond: number | null; width: number },
): string {
  const { stage, done, total, underWay = 0, perSecond, note = '', width } = of;
  const isMoving = perSecond !== null && done < total;
  // A stage of a part, such as `fold 1 of 5: training`, counts what the stage does.
  const count = `: ${done}/${total} ${units[stage.split(': ').at(-1) ?? stage] ?? 'steps'}`;
  const parts = [
    ...(isMoving ? [rateText(perSecond), `${duration((total - done - underWay) / perSecond)} left`] : []),
    ...(note === '' ? [] : [note]),
  ];
  const name = cut(stage === 'trials' ? title : `${title}: ${stage}`, Math.max(1, width - count.length));
  return cut([`${name}${count}`, ...parts].join(' · '), width);
}

function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length > width ? `${characters.slice(0, width - 1).join('')}…` : text;
}

/** Runs work that the user watches and may interrupt. The drawing ends with the work, even after an error. */
export async function watched<Result>(
  title: string,
  terminal: Terminal,
  work: (context: WorkContext) => Promise<Result>,
): Promise<Result> {
  const signal = terminal.interruptSignal('stopping');
  const progress = openProgress(terminal, signal);
  const { see } = progress.line(title);
  const onProgress: WorkContext['onProgress'] = (stage, done, total, note) => see(stage, { done, total, note });
  try {
    const result = await work(workContext({ onProgress, onNote: progress.note, signal }));
    // Work that looks at no signal is done, and still stops here: nobody wants its result any more.
    signal.throwIfAborted();
    return result;
  } finally {
    progress.stop();
  }
}

/** Prints notes on stderr. Those of other processes already begin with our name. */
export function notesTo({ stderr }: Pick<Terminal, 'stderr'>): (line: string) => void {
  return (line) => void stderr.write(`${line.startsWith('earshot:') ? line : `earshot: ${line}`}\n`);
}

const skippedShown = 5;

/** Collects notes of skipped input. The first few are printed at once, the others counted. */
export function collectSkipped({ stderr }: Pick<Terminal, 'stderr'>) {
  let count = 0;
  return {
    onSkipped(line: string) {
      count++;
      if (count <= skippedShown) stderr.write(`${line}\n`);
    },
    count: () => count,
    report() {
      if (count > skippedShown) stderr.write(`skipped ${count - skippedShown} more\n`);
    },
  };
}
