import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { diskError } from '../../src/errors.ts';
import { summaryWidth, visibleText } from '../report/terminal-text.ts';

/** The parts of the process that commands use. Tests pass another one. */
export interface Terminal {
  readonly words: readonly string[];
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  /**
   * Aborts when the user asks to stop. The command then saves its work.
   * @param doing the message to the user; null for a worker, whose parent prints it
   */
  interruptSignal(doing?: string | null): AbortSignal;
  /** Calls the listener at SIGHUP, which asks a program to read its files again; returns a function that ends that. */
  onHangUp(listener: () => void): () => void;
}

/** The streams behind those of `visibleTerminal`, for what moves the cursor itself. */
const rawStreams = new WeakMap<object, Writable>();

/**
 * A terminal that shows control characters as text. Ids, labels and texts of threads, names of files and answers of
 * models come from others and may hold such characters.
 */
export function visibleTerminal(terminal: Terminal): Terminal {
  return {
    words: terminal.words,
    get stdin() {
      return terminal.stdin;
    },
    stdout: visibleStream(terminal.stdout),
    stderr: visibleStream(terminal.stderr),
    interruptSignal: (doing) => terminal.interruptSignal(doing),
    onHangUp: (listener) => terminal.onHangUp(listener),
  };
}

function visibleStream<Stream extends Writable>(stream: Stream): Stream {
  const write = (chunk: unknown, ...rest: unknown[]) =>
    Reflect.apply(stream.write, stream, [typeof chunk === 'string' ? visibleText(chunk) : chunk, ...rest]);
  const visible = new Proxy(stream, {
    get(target, key) {
      if (key === 'write') return write;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  rawStreams.set(visible, stream);
  return visible;
}

/** The raw stream for drawing. Its users write texts through `visibleText`. */
export function drawnStream<Stream extends Writable>(stream: Stream): Writable {
  return rawStreams.get(stream) ?? stream;
}

/** True at a screen of known size. Some containers report 0 × 0, which leaves no room for drawing. */
export function hasScreen({ stderr }: Pick<Terminal, 'stderr'>): boolean {
  const { isTTY = false, columns = 0, rows = 0 } = stderr;
  return isTTY && columns > 0 && rows > 0;
}

export function printJson({ stdout }: Pick<Terminal, 'stdout'>, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printResult(
  terminal: Pick<Terminal, 'stdout'>,
  { json = false, value, text }: { json?: boolean; value: unknown; text: string },
): void {
  if (json) printJson(terminal, value);
  else terminal.stdout.write(text);
}

/** Characters of a line of prose: those of the tables, or fewer on a narrow screen. */
export function proseWidth(terminal: Pick<Terminal, 'stderr'>): number {
  return hasScreen(terminal) ? Math.min(summaryWidth, (terminal.stderr.columns ?? summaryWidth) - 1) : summaryWidth;
}

/** The terminal of this process, which ends after a failed write. */
export function processTerminal(): Terminal {
  const { argv, stdout, stderr } = process;
  stdout.on('error', (error) => endUnwritten(error, 'standard output'));
  stderr.on('error', (error) => endUnwritten(error, 'standard error'));
  return {
    words: argv.slice(2),
    // Opened only by a command that reads it.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    interruptSignal,
    onHangUp(listener) {
      process.on('SIGHUP', listener);
      return () => process.off('SIGHUP', listener);
    },
  };
}

/** Ends like SIGPIPE if the reader has left, as in `earshot decide … | head`, or else with the disk's error. */
function endUnwritten(error: Error, what: string): never {
  if ('code' in error && error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
  const problem = diskError(error, { what: `write ${what}` });
  process.stderr.write(`earshot: ${problem instanceof Error ? problem.message : String(problem)}\n`);
  process.exit(1);
}

/** Aborts at the first Ctrl-C or SIGTERM, so that a command can save. A second one ends the process. */
function interruptSignal(doing: string | null = 'saving and stopping'): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130);
      // First, so that what is drawn on the terminal stands still before the message.
      controller.abort();
      if (doing !== null) process.stderr.write(`\nearshot: ${doing}; press Ctrl-C again to stop at once\n`);
    });
  return controller.signal;
}

/** Stops a command that can resume; the message says what is left. The exit code is 130. */
export class Interrupted extends Error {}
