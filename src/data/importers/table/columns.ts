import { closest, distance } from 'fastest-levenshtein';
import { InputError } from '../../../errors.ts';
import { quoted } from '../../../shell-words.ts';
import { foldedName } from '../../folded-name.ts';
import type { DateOrder } from '../read-time.ts';
import type { ColumnLooks } from './column-looks.ts';
import { areVeracities, type LabelMap } from './label-words.ts';

/** The fields that a column of a table of posts may hold. */
export const tableFields = [
  'threadId',
  'postId',
  'title',
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

/** Common headings, without case and punctuation. */
const commonNames: Readonly<Record<TableField, readonly string[]>> = {
  threadId: [
    'thread',
    'threadid',
    'conversation',
    'conversationid',
    'claimid',
    'rootid',
    'sourceid',
    'ticketid',
    'caseid',
  ],
  postId: ['postid', 'id', 'idstr', 'tweetid', 'tid', 'statusid', 'commentid', 'messageid'],
  title: ['title'],
  text: ['text', 'body', 'content', 'fulltext', 'message', 'tweet', 'tweettext', 'posttext'],
  time: [
    'time',
    'createdat',
    'timestamp',
    'date',
    'datetime',
    'created',
    'createdutc',
    'posttime',
    'postedat',
    'sentat',
  ],
  author: ['author', 'user', 'username', 'screenname', 'userid', 'authorid', 'sender'],
  parent: [
    'parent',
    'parentid',
    'inreplyto',
    'inreplytostatusid',
    'inreplytostatusidstr',
    'inreplytoid',
    'inreplytotweetid',
    'inreplytopostid',
    'replyto',
    'replytoid',
    'replytostatusid',
    'replytomessageid',
  ],
  rumor: ['rumor', 'rumour', 'isrumor', 'isrumour'],
  veracity: ['veracity', 'verdict', 'truthvalue'],
  label: ['label', 'class', 'target', 'y'],
  stance: ['stance', 'stancelabel'],
  event: ['event', 'topic'],
  split: ['split', 'fold', 'subset', 'partition'],
};

/** Headings of exports, used only without a common one: X's API and twarc, Bluesky, Mastodon, Reddit, Telegram. */
const platformNames: Partial<Record<TableField, readonly string[]>> = {
  threadId: ['record.reply.root.uri', 'link_id'],
  postId: ['uri'],
  text: ['record.text', 'rawContent', 'selftext'],
  time: ['record.createdAt'],
  author: ['user.screen_name', 'author.username', 'author.handle', 'account.acct', 'from'],
  parent: ['referenced_tweets.replied_to.id', 'record.reply.parent.uri'],
};

/** The heading of each field. */
export type TableColumns = Partial<Readonly<Record<TableField, string>>>;

/** Options for reading a table. */
export interface TableImportOptions {
  readonly columns?: TableColumns;
  readonly labelMap?: LabelMap;
  readonly dateOrder?: DateOrder | undefined;
  /** The character between fields of a text file; derived from the header by default. */
  readonly delimiter?: string | undefined;
  /** The character around fields of a text file, or none; the double quote by default. */
  readonly quote?: string | undefined;
}

/** The option of `data import` that names the column of a field. */
export function optionOf(field: TableField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * The column of each field: the one that the user chose, or else the one with a matching heading.
 * @param options.source the file, for messages
 * @param options.looks the look of the values, for advice
 * @throws InputError for missing, ambiguous or equal columns, or a table without threads or texts; one message names
 *   all problems
 */
export function tableColumns(
  headings: readonly string[],
  options: { chosen: TableColumns; source: string; looks: ColumnLooks },
): TableColumns {
  const { source, looks } = options;
  const chosen: TableColumns = Object.fromEntries(
    Object.entries(options.chosen).map(([field, name]) => [field, headingNamed(name, headings)]),
  );
  const taken = new Set(Object.values(chosen));
  const columns: Partial<Record<TableField, string>> = { ...chosen };
  const doubtful = new Map<TableField, readonly string[]>();
  for (const field of tableFields) {
    if (columns[field] !== undefined) continue;
    const named = namedFor(field, headings).filter((heading) => !taken.has(heading));
    // A column of ids may be called "tweet", too.
    const running = field === 'text' ? named.filter((heading) => looks.texts.includes(heading)) : [];
    const candidates = running.length === 1 ? running : named;
    if (candidates.length === 1) [columns[field]] = candidates;
    else if (candidates.length > 1) doubtful.set(field, candidates);
  }
  for (const [field, heading] of Object.entries(columns))
    if (headings.indexOf(heading) !== headings.lastIndexOf(heading))
      throw new InputError(
        `${source}: two columns are called ${JSON.stringify(heading)}, which is read as the ${field}; rename or remove one of them`,
      );
  const free = (candidates: readonly string[]) =>
    candidates.filter((heading) => !Object.values(columns).includes(heading));
  const missing = [
    ...Object.entries(chosen)
      .filter(([, heading]) => !headings.includes(heading))
      .map(
        ([name, heading]) =>
          `no column is called ${JSON.stringify(heading)} (${optionOf(fieldNamed(name))})${meantInstead(fieldNamed(name), heading, { headings, looks })}`,
      ),
    ...[...doubtful].map(
      ([field, candidates]) =>
        `both ${candidates.map((heading) => JSON.stringify(heading)).join(' and ')} could be the ${field}; name one with ${optionOf(field)} <column>`,
    ),
    ...(columns.threadId === undefined && !doubtful.has('threadId') && !hasReplyChains(columns)
      ? [
          'no column names the thread of a post; give --thread-id <column>, or --post-id <column> and --parent <column>, which link replies to posts. If every row is a thread, give its id as --thread-id',
        ]
      : []),
    ...(columns.text === undefined && columns.title === undefined && !doubtful.has('text')
      ? ['no column holds the text of a post; give --text <column>']
      : []),
  ];
  if (missing.length > 0)
    throw new InputError(
      `${source}:${missing.length > 1 ? '\n  ' : ' '}${missing.join('\n  ')}${missing.length > 1 ? '\n' : '. '}Columns: ${listed(headings)}${adviceFor(columns, { looks, free })}`,
    );
  return columns;
}

/** The heading of a name, which may be typed in other characters that look the same. */
function headingNamed(name: string, headings: readonly string[]): string {
  if (headings.includes(name)) return name;
  return headings.find((heading) => foldedName(heading) === foldedName(name)) ?? name;
}

/** Whether replies can be matched to their parents if no column names the thread. */
function hasReplyChains({ postId, parent }: TableColumns): boolean {
  return postId !== undefined && parent !== undefined;
}

/**
 * The headings that name a field. Of a number and its text, such as id and id_str, only the text; a nested name, such as author.id, only
 * without a flat one, such as author_id.
 */
function namedFor(field: TableField, headings: readonly string[]): string[] {
  const common = [...new Set(headings)].filter((heading) => commonNames[field].includes(plain(heading)));
  const platform = platformNames[field]?.find((name) => headings.includes(name));
  if (common.length === 0) return platform === undefined ? [] : [platform];
  const ofTexts = common.filter((heading) => !common.includes(`${heading}_str`));
  const outer = ofTexts.filter((heading) => !heading.includes('.'));
  return outer.length > 0 ? outer : ofTexts;
}

/** Columns that are left out although their values look like times or labels. @returns one note per column */
export function overlookedColumns(columns: TableColumns, looks: ColumnLooks): string[] {
  const isFree = (heading: string) => !Object.values(columns).includes(heading);
  const [time] = looks.times.filter(isFree);
  const hasLabel = [columns.rumor, columns.veracity, columns.label].some((heading) => heading !== undefined);
  return [
    ...(columns.time === undefined && time !== undefined
      ? [`${time} looks like times: add ${optionOf('time')} ${quoted(time)}`]
      : []),
    ...(hasLabel
      ? []
      : [...looks.labels]
          .filter(([heading]) => isFree(heading))
          .map(
            ([heading, values]) =>
              `${heading} may be a label (${values.join(', ')}): if so, add ${labelOption(heading, looks)}`,
          )),
  ];
}

/** Other candidates for a heading that no column has, to complete the message. */
function meantInstead(
  field: TableField,
  heading: string,
  { headings, looks }: { headings: readonly string[]; looks: ColumnLooks },
): string {
  const nearest = closest(heading, [...headings]);
  const isNear = distance(heading, nearest) <= Math.max(1, nearest.length / 3);
  const isLabel = field === 'label' || field === 'rumor' || field === 'veracity' || field === 'stance';
  const like = isLabel
    ? [...looks.labels].map(([heading, values]) => `${heading} (${values.join(', ')})`)
    : field === 'time'
      ? looks.times
      : [];
  const seems = `${like.join(' and ')} ${like.length === 1 ? 'looks' : 'look'} like ${isLabel ? 'labels' : 'times'}`;
  const advice = [...(isNear ? [`did you mean ${JSON.stringify(nearest)}?`] : []), ...(like.length > 0 ? [seems] : [])];
  return advice.length === 0 ? '' : `; ${advice.join(' ')}`;
}

/** Options that the values suggest. */
function adviceFor(
  columns: TableColumns,
  { looks, free }: { looks: ColumnLooks; free: (candidates: readonly string[]) => string[] },
): string {
  const hasLabel = [columns.rumor, columns.veracity, columns.label].some((heading) => heading !== undefined);
  const guesses: readonly (readonly [TableField, string | undefined])[] = [
    ['threadId', columns.threadId === undefined ? free(looks.groups)[0] : undefined],
    ['text', columns.text === undefined ? free(looks.texts)[0] : undefined],
    ['time', columns.time === undefined ? free(looks.times)[0] : undefined],
    ['label', hasLabel ? undefined : free([...looks.labels.keys()])[0]],
  ];
  const options = guesses.flatMap(([field, heading]) => {
    if (heading === undefined) return [];
    return [field === 'label' ? labelOption(heading, looks) : `${optionOf(field)} ${quoted(heading)}`];
  });
  return options.length === 0 ? '' : `. By their values, try ${options.join(' ')}`;
}

/** The option that reads a column of labels. */
function labelOption(heading: string, looks: ColumnLooks): string {
  return `${optionOf(areVeracities(looks.labels.get(heading) ?? []) ? 'veracity' : 'label')} ${quoted(heading)}`;
}

const mostListed = 40;

/** Shortens lists, because exports of platforms have hundreds of nested names. */
export function listed(headings: readonly string[]): string {
  const rest = headings.length - mostListed;
  return rest <= 0 ? headings.join(', ') : `${headings.slice(0, mostListed).join(', ')} and ${rest} more`;
}

function fieldNamed(name: string): TableField {
  return tableFields.find((field) => field === name) ?? 'text';
}

function plain(heading: string): string {
  return heading.toLowerCase().replace(/[^a-z0-9]/g, '');
}
