import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { diskError } from '../../src/errors.ts';
import { summaryWidth, visibleText } from '../report/terminal-text.ts';

/** The parts of the process that commands use. Tests pass another one. */
export interface Terminal {
  /** The words after the name of the program. */
  readonly words: readonly string[];
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  /**
   * Aborts when the user asks to stop. A command that calls this saves its work before it ends.
   * @param doing what the user is told that it does then; null for a worker, whose parent tells it
   */
  interruptSignal(doing?: string | null): AbortSignal;
  /** Listens for SIGHUP, by which a program that runs on is asked to read its files anew; returns what ends that. */
  onHangUp(listener: () => void): () => void;
}

/** The streams behind those of `visibleTerminal`, for what moves the cursor itself. */
const rawStreams = new WeakMap<object, Writable>();

/**
 * A terminal that shows control characters and does not obey them: much of what commands print comes from others, such as the ids, labels
 * and texts of threads, the names of files, and the answers of models.
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

/** The stream itself, for programs that draw: whoever uses it writes texts through `visibleText`. */
export function drawnStream<Stream extends Writable>(stream: Stream): Writable {
  return rawStreams.get(stream) ?? stream;
}

/** Whether somebody looks on, at a screen whose size is known: in some containers it is 0 × 0, and nothing can be drawn there. */
export function hasScreen({ stderr }: Pick<Terminal, 'stderr'>): boolean {
  const { isTTY = false, columns = 0, rows = 0 } = stderr;
  return isTTY && columns > 0 && rows > 0;
}

export function printJson({ stdout }: Pick<Terminal, 'stdout'>, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Prints a result: as JSON where `--json` asks for that, else as text. */
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

/** The terminal of this process. What cannot be written to it any more ends the process. */
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

/** Nobody reads on, as in `earshot decide … | head`: ends as a program does that SIGPIPE ends. Else the disk says why not. */
function endUnwritten(error: Error, what: string): never {
  if ('code' in error && error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
  const problem = diskError(error, { what: `write ${what}` });
  process.stderr.write(`earshot: ${problem instanceof Error ? problem.message : String(problem)}\n`);
  process.exit(1);
}

/** Aborts at the first Ctrl-C or SIGTERM, so that a command can save and stop. A second one ends the process at once. */
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

/** The user stopped a command that goes on where it was; the message says what is left. The exit code is 130. */
export class Interrupted extends Error {}
