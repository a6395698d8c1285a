import type { Rereading } from '../../experts/annotations/reread.ts';
import { readerVersions } from '../../experts/llm/answers/read-again.ts';
import { numbersTable } from '../report/numbers-table.ts';

/** How many changes are listed; all are in the JSON. */
const changesShown = 20;
/** Characters of an answer in JSON. */
const longest = 40;

/** What the readers of today make of a store. */
export function rereadText(
  { answers, questions, byOtherVersions, withoutAnswers, changes }: Rereading,
  { write }: { write: boolean },
): string {
  const readers = Object.entries(readerVersions).map(([name, version]) => `${name} ${version}`);
  const others = byOtherVersions > 0 ? `, ${byOtherVersions} of them read by other versions before` : '';
  const lines = [
    `${answers} answers to ${questions} questions read again${others} (readers: ${readers.join(', ')})`,
    ...(withoutAnswers > 0 ? [`${withoutAnswers} annotations have no kept answers and stay as they are`] : []),
  ];
  if (changes.length === 0) return `${[...lines, 'nothing changes'].join('\n')}\n`;
  const rows = changes
    .slice(0, changesShown)
    .map(({ key, threadId, prefixLength, detector, was, now, effect }) => [
      key.slice(0, 12),
      threadId,
      String(prefixLength),
      detector,
      shown(was),
      shown(now),
      effect === 'label' ? 'gets the label' : 'made by the next run',
    ]);
  const header = ['key', 'thread', 'posts', 'detector', 'was', 'is now', 'judgement'];
  const table = numbersTable(header, rows, { texts: header.filter((title) => title !== 'posts') });
  const more = changes.length > changesShown ? [`and ${changes.length - changesShown} more (--json lists all)`] : [];
  const relabelled = changes.filter(({ effect }) => effect === 'label').length;
  const taken = new Set(changes.filter(({ effect }) => effect === 'next-run').map(({ key }) => key)).size;
  const done = write
    ? `${relabelled} judgements got another label. ${taken} questions are open again: the next run reads what is kept of them and asks only for what is missing.`
    : `Nothing was written. With --write ${relabelled} judgements get another label, and ${taken} questions are open again: the next run reads what is kept of them and asks only for what is missing.`;
  return `${[...lines, '', table, ...more, '', done].join('\n')}\n`;
}

function shown(outcome: string | null): string {
  if (outcome === null) return '(nothing)';
  return outcome.length > longest ? `${outcome.slice(0, longest)}…` : outcome;
}
