import type { ListedAnnotation } from '../../experts/annotations/annotation-list.ts';
import type { AnnotationStore, StoredAnnotation } from '../../experts/annotations/annotation-store.ts';
import type { KeptResponse } from '../../experts/annotations/response-table.ts';
import { isSameModel } from '../../experts/llm/cost/usage.ts';
import { counted } from '../../src/counted.ts';
import { InputError } from '../../src/errors.ts';
import { present } from '../../src/present.ts';
import type { ShownRound } from '../report/page/page-data.ts';
import { terminalTable } from '../report/table.ts';
import { wrapped } from '../report/terminal-text.ts';
import { transcriptRounds, usageInWords } from '../report/transcript-rounds.ts';

/** How many of the rows that an ambiguous name may mean are listed. */
const candidatesShown = 10;

/** Rows as a table. Keys are shortened to what `show` usually needs. */
export function listTable(rows: readonly (ListedAnnotation & { readonly trueLabel?: string })[]): string {
  if (rows.length === 0) return 'no annotations\n';
  const cells = rows.map(({ key, threadId, prefixLength, detector, label, trueLabel, date }) => [
    key.slice(0, 12),
    threadId,
    String(prefixLength),
    detector,
    label ?? '–',
    ...(trueLabel === undefined ? [] : [trueLabel]),
    date,
  ]);
  const heading = ['key', 'thread', 'posts', 'detector', 'label', ...(rows[0].trueLabel ? ['true'] : []), 'date'];
  const texts = heading.filter((title) => title !== 'posts');
  return `${terminalTable({ heading, rows: cells, texts })}\n`;
}

/** Answers that are not judgements, each with the reason. */
export function unreadableText(rows: ReturnType<AnnotationStore['unreadable']['list']>): string {
  if (rows.length === 0) return 'no unreadable answers\n';
  const blocks = rows.map(({ threadId, prefixLength, detector, problem, answers, date }) =>
    [
      `Thread ${threadId}, first ${prefixLength} posts, ${detector}, ${date}`,
      problem,
      ...answers.map(({ text, finishReason }) => `  ${JSON.stringify(text)} (${finishReason})`),
    ].join('\n'),
  );
  return `${blocks.join('\n\n')}\n`;
}

/** The one annotation that a name means: the beginning of a key, or a thread and a number of posts. */
export function annotationNamed(options: {
  store: AnnotationStore;
  name: string;
  detector?: string;
}): StoredAnnotation {
  const { store, name, detector } = options;
  const [, threadId, posts] = /^(.+):([1-9]\d*)$/.exec(name) ?? [];
  const filter = { ...(detector !== undefined && { detector }) };
  const matches =
    threadId === undefined
      ? store.list({ ...filter, keyPrefix: name.toLowerCase(), limit: candidatesShown + 1 })
      : store
          .list({ ...filter, threadId, prefixLength: Number(posts) })
          // Parts of a judgement are stored under the same thread; they count only when their detector is named.
          .filter((row) => detector !== undefined || !row.detector.includes('/'));
  const [row, ...others] = store.getRows(matches.map(({ key }) => key)).values();
  if (row !== undefined && others.length === 0) return row;
  throw new InputError(
    row === undefined
      ? `${store.path} holds no annotation ${JSON.stringify(name)}; give the beginning of a key, or <thread>:<posts>, as annotations list shows them`
      : `${JSON.stringify(name)} may mean several annotations; give the beginning of one key, or --detector:\n${listTable(matches.slice(0, candidatesShown))}`,
  );
}

/** The judgement, what it was made of by rounds, and who answered. */
export function debateText(
  row: StoredAnnotation,
  { responses = [], raw = false }: { responses?: readonly KeptResponse[]; raw?: boolean } = {},
): string {
  const { key, request, judgement, threadId, prefixLength, date, latencyMs } = row;
  const { label, probabilities, explanation, transcript, usage, partsUsage } = judgement;
  const shares = Object.entries(probabilities ?? {}).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const took = latencyMs === null ? '' : `, ${(latencyMs / 1000).toFixed(1)} s`;
  const lines = [
    `Thread ${threadId}, first ${counted(prefixLength, 'post')}, judged by ${request.detector} on ${date}`,
    `Label: ${label ?? 'none, it abstains'}${shares.length > 0 ? ` (${shares.join(', ')})` : ''}`,
    ...(explanation === '' ? [] : [wrapped(`Explanation: ${explanation}`, width)]),
    `Usage: ${usageInWords(usage)}${took}`,
    ...(partsUsage === undefined ? [] : [`Parts that other judgements share: ${usageInWords(partsUsage)}`]),
    `Key: ${key}`,
    '',
    ...postsOf(request.input).map((text, index) =>
      wrapped(`  ${index + 1}. ${text.replace(/\s+/g, ' ')}`, { ...width, indent: '     ' }),
    ),
    ...transcriptRounds(transcript).flatMap(({ title, votes, turns }) => [
      ...(title === '' ? [] : ['', `── ${title}${votes === '' ? '' : `: ${votes}`} ──`]),
      ...turns.flatMap(turnLines),
    ]),
    ...(responses.length > 0 && !raw ? [''] : []),
    ...responses.flatMap((response, index) => responseLines(response, { number: index + 1, raw })),
  ];
  return `${lines.join('\n')}\n`;
}

function turnLines({ role, text, vote, took, sources }: ShownRound['turns'][number]): string[] {
  return [
    '',
    `[${role}]${vote === '' ? '' : ` ${vote}`}${took === '' ? '' : ` (${took})`}`,
    wrapped(text, width),
    ...sources.map(({ title, date, url }) => `  ${title} (${date}): ${url}`),
  ];
}

function responseLines(response: KeptResponse, { number, raw }: { number: number; raw: boolean }): string[] {
  const { askedModel, model, fingerprint, finishReason, date, isUsable, body } = response;
  const facts = present([
    model === null ? `${askedModel || 'a model'} asked` : `answered by ${model}`,
    model !== null && askedModel !== '' && !isSameModel(askedModel, model) && `though ${askedModel} was asked`,
    fingerprint !== null && `fingerprint ${fingerprint}`,
    `finish reason ${finishReason}`,
    !isUsable && 'could not be read',
    date,
  ]);
  const line = wrapped(`Answer ${number}: ${facts.join(', ')}`, { ...width, indent: '  ' });
  return raw ? ['', line, body ?? '(nothing is kept of what came over the wire)'] : [line];
}

/** As wide as lines are read with ease. */
const width = { width: 96 };

/** Some detectors store more than the texts. */
function postsOf(input: unknown): string[] {
  return Array.isArray(input) ? input.filter((item): item is string => typeof item === 'string') : [];
}
