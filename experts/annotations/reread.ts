import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { readKeptBody } from '../llm/answers/completion.ts';
import { outcomeOf, readerVersions } from '../llm/answers/read-again.ts';
import { CallFailure } from '../llm/call-failure.ts';
import type { AnswerReader } from '../llm/chat.ts';
import type { AnnotationStore, StoredAnnotation } from './annotation-store.ts';
import type { KeptResponse } from './response-table.ts';

/** An answer that current readers read differently. */
export interface RereadChange {
  /** The key of the judgement that the answer belongs to. */
  readonly key: string;
  readonly detector: string;
  readonly threadId: string;
  readonly prefixLength: number;
  /** The earlier and the current reading: a label or JSON; null if unreadable. */
  readonly was: string | null;
  readonly now: string | null;
}

export interface Rereading {
  /** Answers that were read again. */
  readonly answers: number;
  /** Judgements, and questions without one, that the answers belong to. */
  readonly questions: number;
  /** Answers that an earlier version of the reader had read. */
  readonly byOtherVersions: number;
  /** Annotations without stored answers: imported and older ones, and those of local detectors. */
  readonly withoutAnswers: number;
  readonly changes: readonly RereadChange[];
}

/** Judgements whose answers are read at once. */
const AT_ONCE = 200;

/**
 * Reads all stored answers with the current readers, without a call. With `write`, a judgement with an answer that is
 * read differently is deleted. The next run makes it from the stored answers, because later calls may depend on it.
 */
export function reread(store: AnnotationStore, { write }: { write: boolean }): Rereading {
  const unreadable = new Map(store.unreadable.list().map((row) => [row.key, row]));
  const judgementKeys = store.responses.judgements();
  const questions: RereadQuestion[] = [];
  for (let start = 0; start < judgementKeys.length; start += AT_ONCE) {
    const keys = judgementKeys.slice(start, start + AT_ONCE);
    const annotations = store.getRows(keys);
    const responses = store.responses.of(keys);
    for (const key of keys) {
      const place = placeOf(annotations.get(key)) ?? unreadable.get(key);
      const answers = responses.filter(({ judgement }) => judgement === key).flatMap(readAgain);
      // The next run reads the answers of an unfinished judgement anyway.
      if (place === undefined || answers.length === 0) continue;
      const { detector, threadId, prefixLength } = place;
      const changed = answers.filter(({ was, now }) => was !== now);
      const question = { key, detector, threadId, prefixLength, answers, changed };
      if (write) writeDown(store, question);
      questions.push(question);
    }
  }
  const all = questions.flatMap(({ answers }) => answers);
  const keptKeys = new Set(judgementKeys);
  return {
    answers: all.length,
    questions: questions.length,
    byOtherVersions: all.filter(({ isByOthers }) => isByOthers).length,
    withoutAnswers: store.keys().filter((key) => !keptKeys.has(key)).length,
    changes: questions.flatMap(({ key, detector, threadId, prefixLength, changed }) =>
      changed.map(({ was, now }) => ({ key, detector, threadId, prefixLength, was, now })),
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
  readonly answers: readonly RereadAnswer[];
  readonly changed: readonly RereadAnswer[];
}

function placeOf(row: StoredAnnotation | undefined) {
  return row && { detector: row.request.detector, threadId: row.threadId, prefixLength: row.prefixLength };
}

/** Empty for an answer that only another model reads, or whose body is not stored. */
function readAgain({ body, reader: json, outcome: was, ...response }: KeptResponse): RereadAnswer[] {
  const savedReader = json === null ? undefined : readerSchema.safeParse(jsonOrUndefined(json)).data;
  if (savedReader === undefined || body === null) return [];
  const { completion, ...read } = savedReader;
  const reader: AnswerReader = { ...read, version: readerVersions[read.name] };
  const answer = readKeptBody(body);
  const now = answer instanceof CallFailure ? null : outcomeOf(reader, answer);
  const isByOthers = read.version !== reader.version || completion !== readerVersions.completion;
  const { number, judgement, call, isUsable } = response;
  return [{ number, judgement, call, isUsable, reader, was, now, isByOthers }];
}

function writeDown(store: AnnotationStore, { key, answers, changed }: RereadQuestion): void {
  const { completion } = readerVersions;
  store.transaction(() => {
    for (const { number, reader, now, isByOthers, was } of answers)
      if (isByOthers || was !== now)
        store.responses.note({ number, reader: JSON.stringify({ ...reader, completion }), outcome: now });
    if (changed.length === 0) return;
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
