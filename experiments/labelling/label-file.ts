import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../src/atomic-file.ts';
import { mostClasses } from '../../src/data/classes-of-labels.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError, onDisk } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { cohensKappa } from '../../src/metrics/classification.ts';

/*
 * Labels as people gave them: a file of JSON Lines that only grows. Its first line says which label it holds, each other line is one
 * record. Processes may add to it at the same time, because every record is one write at the end of the file.
 */

const headSchema = z.strictObject({
  label: z.string().min(1),
  classes: z.array(z.string().min(1)).min(2).max(mostClasses),
  seed: z.int().describe('of the order by chance'),
});

/**
 * A record says how its thread was chosen and how likely that was, so that an estimate over labels that were not drawn
 * evenly can be without bias (Farquhar, Gal and Rainforth 2021, "On Statistical Bias in Active Learning",
 * https://arxiv.org/abs/2101.11665).
 */
const recordSchema = z.strictObject({
  kind: z.enum(['shown', 'label', 'cannot-tell', 'skip', 'undo']),
  thread: z.string(),
  class: z.string().nullable().default(null).describe('of a label'),
  annotator: z.string().min(1),
  time: z.iso.datetime(),
  chosen: z
    .enum(['random', 'margin', 'again'])
    .describe('how the thread was chosen; again: to see whether people agree'),
  chance: z.number().positive().max(1).describe('of this thread in the draw that chose it'),
});
export type LabelRecord = z.infer<typeof recordSchema>;

export interface LabelStart {
  readonly label: string;
  /** Those of the file if undefined. */
  readonly classes?: readonly string[] | undefined;
  /** Of the order by chance of a new file. */
  readonly seed: number;
}

/**
 * Opens a label file, or begins one.
 * @throws InputError for a file of another label or other classes, or a new file without classes
 */
export function openLabelFile(path: string, start: LabelStart) {
  if (!existsSync(path)) beginFile(path, start);
  const [first] = linesOf(path);
  const head = headSchema.safeParse(jsonOrUndefined(first)).data;
  const { label, classes } = start;
  if (head?.label !== label || (classes !== undefined && String(classes) !== String(head.classes)))
    throw new InputError(
      `${path} begins with ${first.slice(0, 200)}; it must be a file of \`earshot label\` with labels of ${label}${classes === undefined ? '' : ` and the classes ${classes.join(', ')}`}; give another file with --labels`,
    );
  let read: { size: number; answers: Answers } | null = null;
  return {
    ...head,
    /** The answers so far, including those of other processes. */
    answers(): Answers {
      const { size } = statSync(path);
      if (size !== read?.size) read = { size, answers: answersOf(recordsOf(path, head.classes)) };
      return read.answers;
    },
    /** Appends a record and flushes it, unless it only says which thread is shown. */
    append: (record: LabelRecord) =>
      onDisk(`write a label to ${path}`, () => {
        // A crash may have cut off the line before.
        const lineEnd = readFileSync(path, 'utf8').endsWith('\n') ? '' : '\n';
        appendFileSync(path, `${lineEnd}${JSON.stringify(record)}\n`, { flush: record.kind !== 'shown' });
      }),
  };
}

export type LabelFile = ReturnType<typeof openLabelFile>;

function beginFile(path: string, { label, classes, seed }: LabelStart): void {
  if (classes === undefined)
    throw new InputError(
      `no thread has a label called ${JSON.stringify(label)}, so its classes are not known; give them, such as --classes resolved,escalated`,
    );
  makeFolder(dirname(path));
  // Of two processes that begin it at once, the first line counts.
  onDisk(`write the labels ${path}`, () =>
    appendFileSync(path, `${JSON.stringify({ label, classes, seed })}\n`, { flush: true }),
  );
}

function linesOf(path: string): string[] {
  return onDisk(`read the labels ${path}`, () => readFileSync(path, 'utf8').split('\n'));
}

function recordsOf(path: string, classes: readonly string[]): LabelRecord[] {
  const schema = recordSchema.refine(({ kind, class: label }) => kind !== 'label' || classes.includes(label ?? ''));
  return linesOf(path).flatMap((line, index) => {
    const value = jsonOrUndefined(line);
    // A crash cut it off, and nobody was told that it is there.
    if (value === undefined) return [];
    const record = schema.safeParse(value);
    if (record.success) return [record.data];
    if (headSchema.safeParse(value).success) return [];
    throw new InputError(
      `${path}:${index + 1} is no label of ${classes.join(', ')}: ${line.slice(0, 200)}. Correct the line, or remove it`,
    );
  });
}

export type Answers = ReturnType<typeof answersOf>;

function answersOf(records: readonly LabelRecord[]) {
  /** Labels, "can't tell" answers and skips that were not taken back, the oldest first. */
  const standing: LabelRecord[] = [];
  /** The unanswered thread of each annotator, in the order of the file. */
  const shownTo = new Map<string, LabelRecord>();
  for (const record of records) {
    const { kind, thread, annotator } = record;
    const isShown = kind === 'shown' || kind === 'undo';
    if (kind === 'undo') {
      const place = standing.findLastIndex((other) => other.thread === thread && other.annotator === annotator);
      if (place >= 0) standing.splice(place, 1);
    } else if (!isShown) standing.push(record);
    if (isShown || shownTo.get(annotator)?.thread === thread) shownTo.delete(annotator);
    if (isShown) shownTo.set(annotator, record);
  }
  const all = standing.filter(({ kind }) => kind !== 'skip');
  return {
    /** All threads of the file, also those whose answers were taken back. */
    threads: new Set(records.map(({ thread }) => thread)),
    standing,
    shownTo,
    /** Labels and "can't tell" answers, the oldest first. */
    all,
    /** The last answer of each thread: its class, or null for "can't tell". */
    classOf: new Map(all.map((record) => [record.thread, record.class])),
  };
}

/** The last answer or skip of an annotator, for an undo. */
export function lastOf(annotator: string, { standing }: Answers): LabelRecord | null {
  return standing.findLast((record) => record.annotator === annotator) ?? null;
}

/** Cohen's kappa of the first two labels of a thread, over threads with two. */
export function agreement({ all }: Answers): { threads: number; kappa: number | null } {
  const byThread = groupBy(all, ({ thread }) => thread).values();
  const pairs = Array.from(byThread, (records) => records.flatMap((record) => record.class ?? []))
    .filter(({ length }) => length >= 2)
    .map(([first, second]) => [first, second] as const);
  return { threads: pairs.length, kappa: cohensKappa(pairs) };
}
