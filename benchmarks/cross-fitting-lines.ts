import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type Case, protocolSchema, setNames } from './cross-fitting-draws.ts';

/* A run of benchmarks/cross-fitting.ts. */

const share = z.number().min(0).max(1);
const estimateSchema = z.object({ macroF1: share, interval: z.array(share).length(2) });
const pointSchema = z.object({
  macroF1: share,
  /** Expected calibration error, ten bins. */
  calibrationError: share,
});

const lineSchema = z.object({
  set: z.enum(setNames),
  labels: z.int(),
  draw: z.int(),
  protocol: protocolSchema,
  folds: z.int(),
  timing: z.enum(['init', 'true', 'false']),
  /** Of the processor, for the training. */
  seconds: z.number(),
  /** How many threads the policy was tried on. */
  fresh: z.int(),
  /** The run's estimate of its own scores: cross-validated, or on its test part. */
  estimate: z.object({ threads: z.int(), stop: estimateSchema, end: estimateSchema, read: share, changed: share }),
  /** Of the shipped policy, on fresh threads. */
  shipped: z.object({
    first: pointSchema,
    stop: pointSchema,
    end: pointSchema,
    read: share,
    changed: share,
    guarantee: z.object({ threshold: z.number(), bound: share, confidence: share.nullable() }).nullable(),
  }),
  /** macro-F1 of the shipped policy on the fresh threads whose claims repeat no labelled one. */
  newClaims: z.object({ threads: z.int(), stop: share, end: share }),
  /** With other calibration threads; null for cross-validation. */
  redrawn: z.array(z.object({ changed: share, read: share })).nullable(),
});
export type Line = z.infer<typeof lineSchema>;

/** The runs of a file. */
export function readLines(file: string): Line[] {
  const text = readFileSync(file, 'utf8').trimEnd();
  return text === '' ? [] : text.split('\n').map((line) => lineSchema.parse(JSON.parse(line)));
}

export function isLineOf(line: Line, each: Case): boolean {
  const { set, labels, draw, protocol, folds, timing } = each;
  return (
    line.set === set &&
    line.labels === labels &&
    line.draw === draw &&
    line.protocol === protocol &&
    line.timing === timing &&
    (protocol === 'split' || line.folds === folds)
  );
}
