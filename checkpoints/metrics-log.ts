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
import { onDisk } from '../src/errors.ts';
import { storedLine } from '../src/json-file.ts';

/** JSON has no NaN or infinity: they are written as strings, so that a diverged loss does not read as missing. */
const loggedNumber = z
  .union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])])
  .transform((value) => Number(value));
const lineSchema = z.object({ step: z.number().int().nonnegative() }).catchall(loggedNumber);

/** One line of `metrics.jsonl`: its step and any other numbers by name. */
export type MetricsLine = { readonly step: number } & Readonly<Record<string, number>>;

/**
 * Opens an append-only log with one JSON object per line, in the order of steps. Several lines may share a step. Equal
 * metrics give equal bytes, so a resumed run leaves the same file as an uninterrupted one; wall-clock times belong in
 * another log.
 * @param options.resumeStep the step of the checkpoint that training resumes from: later lines and a half-written last
 *   line are cut off. Null empties the log.
 * @throws InputError for a broken line before that step, or if the disk refuses
 */
export function openMetricsLog(path: string, { resumeStep }: { resumeStep: number | null }) {
  const end = resumeStep === null || !existsSync(path) ? { bytes: 0, lastStep: 0 } : endAtStep(path, resumeStep);
  const file = openAfter(path, end.bytes);
  let { lastStep } = end;
  return {
    /** @throws Error for a step before the last one; InputError if the disk refuses */
    append(line: MetricsLine): void {
      if (!Number.isInteger(line.step) || line.step < lastStep)
        throw new Error(
          `step ${line.step} cannot be logged to ${path} after step ${lastStep}; log whole steps in order`,
        );
      lastStep = line.step;
      const values = Object.entries(line).map(([name, value]) => [
        name,
        Number.isFinite(value) ? value : String(value),
      ]);
      const text = `${JSON.stringify({ step: line.step, ...Object.fromEntries(values) })}\n`;
      onDisk(`append ${Buffer.byteLength(text)} bytes to ${path}`, () => writeFileSync(file, text));
    },
    /**
     * Makes all appended lines survive a power cut. Called before a checkpoint is saved, so that the log reaches it.
     */
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  };
}

/** Opens the file for appending, cut off after `bytes` bytes. */
function openAfter(path: string, bytes: number): number {
  return onDisk(`open the log ${path}`, () => {
    const file = openSync(path, 'a');
    if (fstatSync(file).size > bytes) ftruncateSync(file, bytes);
    return file;
  });
}

/**
 * Reads all complete lines of a log. A last line without a newline was cut off while it was written, and is ignored.
 * @throws InputError for a line that is not a metrics line, or a file that cannot be read
 */
export function readMetrics(path: string): MetricsLine[] {
  return Array.from(completeLines(path), ({ line }) => line);
}

function endAtStep(path: string, step: number): { bytes: number; lastStep: number } {
  let last = { bytes: 0, lastStep: 0 };
  for (const { line, end } of completeLines(path)) {
    if (line.step > step) break;
    last = { bytes: end, lastStep: line.step };
  }
  return last;
}

function* completeLines(path: string): Generator<{ line: MetricsLine; end: number }> {
  const bytes = onDisk(`read the log ${path}`, () => readFileSync(path));
  let start = 0;
  for (let number = 1; ; number++) {
    const newline = bytes.indexOf(0x0a, start);
    if (newline === -1) return;
    const text = bytes.toString('utf8', start, newline);
    yield { line: storedLine(text, { path, number, schema: lineSchema }), end: newline + 1 };
    start = newline + 1;
  }
}
