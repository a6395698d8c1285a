import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { readKeptBody } from '../llm/answers/completion.ts';
import { outcomeOf, readerVersions } from '../llm/answers/read-again.ts';
import { CallFailure } from '../llm/call-failure.ts';
import type { AnswerReader } from '../llm/chat.ts';
import type { AnnotationStore, StoredAnnotation } from './annotation-store.ts';
import type { KeptResponse } from './response-table.ts';

/** An answer that the readers of today read as something else. */
export interface RereadChange {
  /** Of the judgement that it was given for. */
  readonly key: string;
  readonly detector: string;
  readonly threadId: string;
  readonly prefixLength: number;
  /** What it was read as, and is now: a label, or JSON. Null: it could not be read. */
  readonly was: string | null;
  readonly now: string | null;
  /**
   * `label`: the answer is the judgement's, which gets the label. `next-run`: other calls may hang on it; the judgement is taken
   * out, and the next run makes it from the kept answers.
   */
  readonly effect: 'label' | 'next-run';
}

export interface Rereading {
  /** Answers that were read again. */
  readonly answers: number;
  /** Judgements, and questions without one, that they belong to. */
  readonly questions: number;
  /** Answers that were read by readers of other versions before. */
  readonly byOtherVersions: number;
  /** Annotations of whose answers nothing is kept: imported ones, older ones and those of local detectors. */
  readonly withoutAnswers: number;
  readonly changes: readonly RereadChange[];
}

/** Judgements whose answers are read in one go. */
const AT_ONCE = 200;

/**
 * Reads all kept answers with the readers of today, without a call. With `write` the store becomes what these would have made
 * of it; otherwise nothing is changed.
 */
export function reread(store: AnnotationStore, { write }: { write: boolean }): Rereading {
  const unreadable = new Map(store.unreadable.list().map((row) => [row.key, row]));
  const kept = store.responses.judgements();
  const questions: RereadQuestion[] = [];
  for (let start = 0; start < kept.length; start += AT_ONCE) {
    const keys = kept.slice(start, start + AT_ONCE);
    const annotations = store.getRows(keys);
    const responses = store.responses.of(keys);
    for (const key of keys) {
      const place = placeOf(annotations.get(key)) ?? unreadable.get(key);
      const answers = responses.filter(({ judgement }) => judgement === key).flatMap(readAgain);
      // Of a judgement that is not finished, the next run reads them anyway.
      if (place === undefined || answers.length === 0) continue;
      const { detector, threadId, prefixLength } = place;
      const annotation = annotations.get(key) ?? null;
      const changed = answers.filter(({ was, now }) => was !== now);
      const effect = isItsLabel(annotation, answers) ? 'label' : 'next-run';
      const question = { key, detector, threadId, prefixLength, annotation, answers, changed, effect } as const;
      if (write) writeDown(store, question);
      // Bodies of a whole store are too many to keep.
      questions.push({ ...question, annotation: null });
    }
  }
  const all = questions.flatMap(({ answers }) => answers);
  const keptKeys = new Set(kept);
  return {
    answers: all.length,
    questions: questions.length,
    byOtherVersions: all.filter(({ isByOthers }) => isByOthers).length,
    withoutAnswers: store.keys().filter((key) => !keptKeys.has(key)).length,
    changes: questions.flatMap(({ key, detector, threadId, prefixLength, effect, changed }) =>
      changed.map(({ was, now }) => ({ key, detector, threadId, prefixLength, was, now, effect })),
    ),
  };
}

interface RereadAnswer extends Pick<KeptResponse, 'number' | 'judgement' | 'call' | 'isUsable'> {
  readonly reader: AnswerReader;
  readonly was: string | null;
  readonly now: string | null;
  readonly isByOthers: boolean;
}

interface RereadQuestion extends Omit<RereadChange, 'was' | 'now'> {
  /** Null where no answer could be read. */
  readonly annotation: StoredAnnotation | null;
  readonly answers: readonly RereadAnswer[];
  readonly changed: readonly RereadAnswer[];
}

function placeOf(row: StoredAnnotation | undefined) {
  return row && { detector: row.request.detector, threadId: row.threadId, prefixLength: row.prefixLength };
}

/** Nothing where nobody reads the answer but another model, or its body is not kept. */
function readAgain({ body, reader: json, outcome: was, ...response }: KeptResponse): RereadAnswer[] {
  const kept = json === null ? undefined : readerSchema.safeParse(jsonOrUndefined(json)).data;
  if (kept === undefined || body === null) return [];
  const { completion, ...read } = kept;
  const reader: AnswerReader = { ...read, version: readerVersions[read.name] };
  const answer = readKeptBody(body);
  const now = answer instanceof CallFailure ? null : outcomeOf(reader, answer);
  const isByOthers = read.version !== reader.version || completion !== readerVersions.completion;
  const { number, judgement, call, isUsable } = response;
  return [{ number, judgement, call, isUsable, reader, was, now, isByOthers }];
}

/** Whether only the last answer changed, and it is the judgement: nothing hangs on it but the label. */
function isItsLabel(annotation: StoredAnnotation | null, answers: readonly RereadAnswer[]): boolean {
  const last = answers[answers.length - 1];
  return (
    annotation !== null &&
    last.reader.name !== 'json' &&
    last.was === annotation.judgement.label &&
    last.now !== null &&
    answers.every((answer) => answer === last || answer.was === answer.now)
  );
}

function writeDown(store: AnnotationStore, { key, annotation, answers, changed, effect }: RereadQuestion): void {
  const { completion } = readerVersions;
  store.transaction(() => {
    for (const { number, reader, now, isByOthers, was } of answers)
      if (isByOthers || was !== now)
        store.responses.note({ number, reader: JSON.stringify({ ...reader, completion }), outcome: now });
    if (changed.length === 0) return;
    if (effect === 'label' && annotation !== null) {
      const { judgement } = annotation;
      const label = changed[0].now;
      const likeliest = Object.entries(judgement.probabilities ?? {}).sort(([, one], [, other]) => other - one)[0];
      const probabilities = likeliest?.[0] === label ? judgement.probabilities : null;
      const last = judgement.transcript.length - 1;
      const transcript = judgement.transcript.map((entry, index) =>
        index === last && label !== null ? { ...entry, vote: label } : entry,
      );
      store.replace(key, { ...judgement, label, probabilities, transcript });
      return;
    }
    store.remove(key);
    store.unreadable.forget([key]);
    store.responses.use(
      changed.filter(({ now, isUsable }) => now !== null && !isUsable),
      true,
    );
  });
}

const common = { version: z.number(), completion: z.number() };
const readerSchema = z.discriminatedUnion('name', [
  z.object({ name: z.literal('verdict'), ...common, words: z.record(z.string(), z.array(z.string())) }),
  z.object({ name: z.literal('json'), ...common, schema: z.record(z.string(), z.unknown()) }),
]);
