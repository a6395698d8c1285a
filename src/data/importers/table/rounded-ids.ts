import { InputError } from '../../../errors.ts';
import type { TableColumns } from './columns.ts';
import type { RowOfPost } from './row-of-post.ts';

/** Digits that spreadsheets keep of a number, and those that programs show of one. */
const keptDigits = [15, 16, 17];

/** Zeros that must be seen, all in all, before they are no chance. */
const leastZeros = 6;

/** @throws InputError for ids that have lost their last digits to a program that took them for numbers: all of the long ones end in zeros */
export function refuseRoundedIds(
  rows: readonly RowOfPost[],
  { source, columns }: { source: string; columns: TableColumns },
): void {
  const columnsOfIds = [
    [columns.postId, rows.map(({ postId }) => postId)],
    [columns.threadId, rows.map(({ threadId }) => threadId)],
  ] as const;
  for (const [column, ids] of columnsOfIds) {
    const different = new Set(ids.filter((id) => id !== null));
    if (!areRounded(different)) continue;
    const [example] = [...different].filter((id) => id.length > keptDigits[0]);
    throw new InputError(
      `${source}, column ${JSON.stringify(column)}: the last digits of the ids are gone, for every long one ends in zeros, such as ${example}. A spreadsheet or a program has read them as numbers; export them again as text`,
    );
  }
}

function areRounded(ids: ReadonlySet<string>): boolean {
  return keptDigits.some((kept) => {
    const long = [...ids].filter((id) => /^\d+$/.test(id) && id.length > kept);
    const zeros = long.reduce((sum, { length }) => sum + length - kept, 0);
    return zeros >= leastZeros && long.every((id) => /^0+$/.test(id.slice(kept)));
  });
}
