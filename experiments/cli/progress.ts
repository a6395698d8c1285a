import { type WorkContext, workContext } from '../../src/work-context.ts';
import { type LiveLines, type LiveState, liveLines } from './live-lines.ts';
import { duration, type Pace, paceMeter, rateText } from './pace.ts';
import { hasScreen, type Terminal } from './terminal.ts';

interface Stand {
  readonly done: number;
  readonly total: number;
  /** Shown at the end of the line. */
  readonly note?: string;
  /** Progress of unfinished items, in items. */
  readonly underWay?: number;
}

const lineEveryMs = 5000;

/** Lines for files and pipes: at most one line every five seconds for all stages, and a last one for the last stage. */
export function plainLines({ stderr }: Pick<Terminal, 'stderr'>) {
  let shownMs = performance.now();
  let pending: string | null = null;
  const write = () => {
    if (pending !== null) stderr.write(`${pending}\n`);
    pending = null;
    shownMs = performance.now();
  };
  return {
    /** @param everyMs least time between two lines */
    show({ label, done, total, unit, underWay, perSecond, note }: LiveState, everyMs = lineEveryMs) {
      const isMoving = perSecond !== null && done < total;
      const speed = isMoving
        ? ` · ${rateText(perSecond)} · ${duration((total - done - underWay) / perSecond)} left`
        : '';
      pending = `${label}: ${done}/${total} ${unit}${speed} ${note}`.trimEnd();
      if (performance.now() - shownMs >= everyMs) write();
    },
    end: write,
  };
}

/** Shows the progress of a piece of work that goes through named stages. */
export type StageProgress = Pick<WorkContext, 'onProgress' | 'onNote' | 'onMeasured'> & { done(): void };

/**
 * Shows work in named stages on stderr: a redrawn line on a terminal, occasional lines elsewhere.
 * @param options.signal ends the drawing before the message of an interruption
 * @param options.lines shared with other work that is shown
 */
export function stageProgress(
  title: string,
  terminal: Pick<Terminal, 'stderr'>,
  options: { signal?: AbortSignal; lines?: LiveLines } = {},
): StageProgress {
  if (!hasScreen(terminal)) {
    const { show, end } = plainLines(terminal);
    const { see } = stagesOf(title, show);
    const onProgress: WorkContext['onProgress'] = (name, done, total, note) => see(name, { done, total, note });
    return { onProgress, onNote: notesTo(terminal), onMeasured: null, done: end };
  }
  const lines = options.lines ?? watchedLines(terminal, options.signal);
  const { see, onMeasured } = stagesOf(title, (state) => lines.show(title, state));
  const done = () => (options.lines === undefined ? lines.stop() : lines.remove(title));
  return {
    onProgress: (name, done, total, note) => see(name, { done, total, note }),
    onNote: notesTo(terminal, lines),
    onMeasured,
    done,
  };
}

/** Runs work that the user watches and may interrupt. The drawing ends with the work, even after an error. */
export async function watched<Result>(
  title: string,
  terminal: Terminal,
  work: (context: WorkContext) => Promise<Result>,
): Promise<Result> {
  const signal = terminal.interruptSignal('stopping');
  const { done, ...stage } = stageProgress(title, terminal, { signal });
  try {
    return await work(workContext({ ...stage, signal }));
  } finally {
    done();
  }
}

/** Prints a note on stderr above the drawn lines. Notes of other processes already begin with our name. */
export function notesTo({ stderr }: Pick<Terminal, 'stderr'>, lines?: LiveLines): (line: string) => void {
  const show = lines?.note ?? ((line: string) => void stderr.write(`${line}\n`));
  return (line) => show(line.startsWith('earshot:') ? line : `earshot: ${line}`);
}

/** Lines on a terminal that stand still once the signal aborts. */
export function watchedLines(terminal: Pick<Terminal, 'stderr'>, signal?: AbortSignal): LiveLines {
  const lines = liveLines(terminal);
  signal?.addEventListener('abort', lines.stop, { once: true });
  return lines;
}

/** The stages of one piece of work, each with its pace and measurements. */
export function stagesOf(title: string, show: (state: LiveState, everyMs?: number) => void) {
  let stage: { name: string; pace: Pace } | null = null;
  let measured: LiveState['measured'] = {};
  const curve: number[] = [];
  return {
    see(name: string, { done, total, note = '', underWay = 0 }: Stand, everyMs?: number) {
      if (stage?.name !== name) stage = { name, pace: paceMeter() };
      const perSecond = stage.pace.see(done + underWay);
      const label = name === 'trials' ? title : `${title}: ${name}`;
      show({ label, done, total, unit: units[name] ?? 'steps', underWay, perSecond, note, measured, curve }, everyMs);
    },
    onMeasured(now: LiveState['measured']) {
      measured = now;
      const [first] = Object.values(now);
      if (first !== undefined) curve.push(first);
    },
  };
}

const units: Readonly<Record<string, string>> = {
  training: 'iterations',
  testing: 'runs',
  'judging prefixes': 'prefixes',
  trials: 'trials',
};

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
