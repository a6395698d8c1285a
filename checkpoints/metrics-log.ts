import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { z } from 'zod';
import { diskError, InputError } from '../src/errors.ts';

/** JSON has no NaN or infinity, and a diverged loss must not read as missing: they stand as strings, as in protobuf. */
const loggedNumber = z
  .union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])])
  .transform((value) => Number(value));
const lineSchema = z.object({ step: z.number().int().nonnegative() }).catchall(loggedNumber);

/** One line of `metrics.jsonl`: the step it was logged at and any other numbers by name. */
export type MetricsLine = { readonly step: number } & Readonly<Record<string, number>>;

/**
 * An append-only file of one JSON object a line, in order of steps. Several lines may share a step. The same steps give
 * the same bytes, so wall-clock times belong in a log of their own.
 */
export class MetricsLog {
  private readonly path: string;
  private readonly file: number;
  private lastStep: number;

  private constructor(path: string, file: number, lastStep: number) {
    this.path = path;
    this.file = file;
    this.lastStep = lastStep;
  }

  /**
   * With `resumeStep`, the step of the checkpoint training goes on from, later lines are cut off, and a half-written
   * last line with them; with null the log starts empty.
   */
  static open(path: string, { resumeStep }: { resumeStep: number | null }): MetricsLog {
    const kept = resumeStep === null || !existsSync(path) ? { bytes: 0, lastStep: 0 } : keptUntil(path, resumeStep);
    try {
      const file = openSync(path, 'a');
      if (fstatSync(file).size > kept.bytes) ftruncateSync(file, kept.bytes);
      return new MetricsLog(path, file, kept.lastStep);
    } catch (error) {
      throw diskError(error, { what: `open the log ${path}` });
    }
  }

  append(line: MetricsLine): void {
    if (!Number.isInteger(line.step) || line.step < this.lastStep)
      throw new Error(
        `step ${line.step} cannot be logged to ${this.path} after step ${this.lastStep}; log whole steps in order`,
      );
    this.lastStep = line.step;
    const values = Object.entries(line).map(([name, value]) => [name, Number.isFinite(value) ? value : String(value)]);
    const text = `${JSON.stringify({ step: line.step, ...Object.fromEntries(values) })}\n`;
    try {
      writeFileSync(this.file, text);
    } catch (error) {
      throw diskError(error, { what: `append ${Buffer.byteLength(text)} bytes to ${this.path}` });
    }
  }

  /** Call it before a checkpoint is saved: then the log on disk is never behind the checkpoint. */
  sync(): void {
    fsyncSync(this.file);
  }

  close(): void {
    closeSync(this.file);
  }
}

/** All complete lines; a last line without its newline was cut off while written and is left out. */
export function readMetrics(path: string): MetricsLine[] {
  return Array.from(completeLines(path), ({ line }) => line);
}

function keptUntil(path: string, step: number): { bytes: number; lastStep: number } {
  let kept = { bytes: 0, lastStep: 0 };
  for (const { line, end } of completeLines(path)) {
    if (line.step > step) break;
    kept = { bytes: end, lastStep: line.step };
  }
  return kept;
}

function* completeLines(path: string): Generator<{ line: MetricsLine; end: number }> {
  const bytes = readBytes(path);
  let start = 0;
  for (let number = 1; ; number++) {
    const newline = bytes.indexOf(0x0a, start);
    if (newline === -1) return;
    yield { line: parseLine(bytes.toString('utf8', start, newline), { path, number }), end: newline + 1 };
    start = newline + 1;
  }
}

function parseLine(text: string, { path, number }: { path: string; number: number }): MetricsLine {
  const wrong = (why: string) =>
    new InputError(`${path}, line ${number}: ${why}; correct or delete that line, or start the run afresh`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw wrong(`${JSON.stringify(text.slice(0, 60))} is not JSON`);
  }
  const parsed = lineSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw wrong(parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the line'}: ${issue.message}`).join('; '));
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw diskError(error, { what: `read the log ${path}` });
  }
}
