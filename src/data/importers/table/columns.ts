import { closest } from 'fastest-levenshtein';
import { InputError } from '../../../errors.ts';

/** What a column of a table of posts may hold. */
export const tableFields = [
  'threadId',
  'postId',
  'text',
  'time',
  'author',
  'parent',
  'rumor',
  'veracity',
  'label',
  'stance',
  'event',
  'split',
] as const;
export type TableField = (typeof tableFields)[number];

/** Headings that people use, without case and punctuation. */
const commonNames: Readonly<Record<TableField, readonly string[]>> = {
  threadId: ['thread', 'threadid', 'conversation', 'conversationid', 'claimid', 'rootid', 'sourceid'],
  postId: ['postid', 'id', 'tweetid', 'tid', 'statusid', 'commentid', 'messageid'],
  text: ['text', 'body', 'content', 'fulltext', 'message', 'tweet', 'posttext'],
  time: ['time', 'createdat', 'timestamp', 'date', 'datetime', 'created', 'createdutc', 'posttime', 'postedat'],
  author: ['author', 'user', 'username', 'screenname', 'userid', 'authorid'],
  parent: ['parent', 'parentid', 'inreplyto', 'inreplytostatusid', 'inreplytoid', 'replyto'],
  rumor: ['rumor', 'rumour', 'isrumor', 'isrumour'],
  veracity: ['veracity', 'verdict', 'truthvalue'],
  label: ['label', 'class', 'target', 'y'],
  stance: ['stance', 'stancelabel'],
  event: ['event', 'topic'],
  split: ['split', 'fold', 'subset', 'partition'],
};

/** Which column holds which field, by heading. */
export type TableColumns = Partial<Readonly<Record<TableField, string>>>;

/** The option of `data import` that names the column of a field. */
export function optionOf(field: TableField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * The column of each field: the one that was given, else the one whose heading says so.
 * @param options.source the file, for messages
 * @throws InputError for a column that does not exist, two columns that could be meant or have the same name, or a table without threads or texts
 */
export function tableColumns(
  headings: readonly string[],
  options: { given: TableColumns; source: string },
): TableColumns {
  const { given, source } = options;
  for (const [field, heading] of Object.entries(given))
    if (!headings.includes(heading))
      throw new InputError(
        `${source} has no column ${JSON.stringify(heading)} (${optionOf(fieldNamed(field))}); did you mean ` +
          `${JSON.stringify(closest(heading, [...headings]))}? Columns: ${headings.join(', ')}`,
      );
  const taken = new Set(Object.values(given));
  const columns: Partial<Record<TableField, string>> = { ...given };
  for (const field of tableFields) {
    if (columns[field] !== undefined) continue;
    const found = [...new Set(headings)].filter(
      (heading) => !taken.has(heading) && commonNames[field].includes(plain(heading)),
    );
    if (found.length > 1)
      throw new InputError(
        `${source}: both ${found.map((heading) => JSON.stringify(heading)).join(' and ')} could be the ${field}; say which with ${optionOf(field)} <column>`,
      );
    if (found.length === 1) [columns[field]] = found;
  }
  for (const [field, heading] of Object.entries(columns))
    if (headings.indexOf(heading) !== headings.lastIndexOf(heading))
      throw new InputError(
        `${source}: two columns are called ${JSON.stringify(heading)}, which is read as the ${field}; rename or remove one of them`,
      );
  for (const [field, what] of [
    ['threadId', 'which thread a post is of. Where every row is a thread of its own, name its id there'],
    ['text', 'the text of a post'],
  ] as const)
    if (columns[field] === undefined)
      throw new InputError(
        `${source}: no column says ${what}; give ${optionOf(field)} <column>. Columns: ${headings.join(', ')}`,
      );
  return columns;
}

function fieldNamed(name: string): TableField {
  return tableFields.find((field) => field === name) ?? 'text';
}

function plain(heading: string): string {
  return heading.toLowerCase().replace(/[^a-z0-9]/g, '');
}
