import { closest, distance } from 'fastest-levenshtein';
import { InputError } from '../../../errors.ts';
import { present } from '../../../present.ts';
import { quoted } from '../../../shell-words.ts';
import { foldedName } from '../../folded-name.ts';
import { commonNames, type TableField, tableFields } from '../../thread.ts';
import type { DateOrder } from '../read-time.ts';
import { listed } from './cells.ts';
import type { ColumnLooks } from './column-looks.ts';
import { areVeracities, type LabelMap } from './labels.ts';

/** Headings of exports, used only without a common one: X's API and twarc, Bluesky, Mastodon, Reddit, Telegram. */
const platformNames: Partial<Record<TableField, readonly string[]>> = {
  threadId: ['record.reply.root.uri', 'link_id'],
  postId: ['uri'],
  text: ['record.text', 'rawContent', 'selftext'],
  time: ['record.createdAt'],
  author: ['user.screen_name', 'author.username', 'author.handle', 'account.acct', 'from'],
  parent: ['referenced_tweets.replied_to.id', 'record.reply.parent.uri'],
};

/** The heading of each field; chosen as '' for a field that no column holds, whatever its heading. */
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
  const left = tableFields.filter((field) => options.chosen[field] === '');
  const chosen: TableColumns = Object.fromEntries(
    Object.entries(options.chosen).flatMap(([field, name]) =>
      name === '' ? [] : [[field, headingNamed(name, headings)]],
    ),
  );
  const taken = new Set(Object.values(chosen));
  const columns: Partial<Record<TableField, string>> = { ...chosen };
  const doubtful = new Map<TableField, readonly string[]>();
  for (const field of tableFields) {
    if (columns[field] !== undefined || left.includes(field)) continue;
    const named = namedFor(field, headings).filter((heading) => !taken.has(heading));
    // A column of ids may be called "tweet", too.
    const running = field === 'text' ? named.filter((heading) => looks.texts.includes(heading)) : [];
    const candidates = running.length === 1 ? running : named;
    if (candidates.length === 1) [columns[field]] = candidates;
    else if (candidates.length > 1) doubtful.set(field, candidates);
  }
  const isThreaded = columns.threadId !== undefined || (columns.postId !== undefined && columns.parent !== undefined);
  const twice = Object.entries(columns).filter(([, name]) => headings.indexOf(name) !== headings.lastIndexOf(name));
  const problems = present([
    ...twice.map(
      ([field, heading]) =>
        `two columns are called ${JSON.stringify(heading)}, which is read as the ${field}; rename or remove one of them`,
    ),
    ...tableFields.map((field) => {
      const heading = chosen[field];
      if (heading === undefined || headings.includes(heading)) return null;
      const advice = meantInstead(field, heading, { headings, looks });
      return `no column is called ${JSON.stringify(heading)} (${optionOf(field)})${advice}`;
    }),
    ...[...doubtful].map(
      ([field, candidates]) =>
        `both ${candidates.map((heading) => JSON.stringify(heading)).join(' and ')} could be the ${field}; name one with ${optionOf(field)} <column>, or none with ${optionOf(field)} ""`,
    ),
    !isThreaded &&
      !doubtful.has('threadId') &&
      'no column names the thread of a post; give --thread-id <column>, or --post-id <column> and --parent <column>, which link replies to posts. If every row is a thread, give its id as --thread-id',
    columns.text === undefined &&
      columns.title === undefined &&
      !doubtful.has('text') &&
      'no column holds the text of a post; give --text <column>',
  ]);
  if (problems.length === 0) return columns;
  const likely = Object.entries(likelyColumns(columns, looks)).flatMap(([, [first]]) => first?.option ?? []);
  const advice = likely.length === 0 ? '' : `. By their values, try ${likely.join(' ')}`;
  const text = problems.length > 1 ? `\n  ${problems.join('\n  ')}\n` : ` ${problems[0]}. `;
  throw new InputError(`${source}:${text}Columns: ${listed(headings)}${advice}`);
}

/** The heading of a name, which may be typed in other characters that look the same. */
function headingNamed(name: string, headings: readonly string[]): string {
  if (headings.includes(name)) return name;
  return headings.find((heading) => foldedName(heading) === foldedName(name)) ?? name;
}

/**
 * The headings that name a field. Of a number and its text, such as id and id_str, only the text; a nested name, such
 * as author.id, only without a flat one, such as author_id.
 */
function namedFor(field: TableField, headings: readonly string[]): string[] {
  const plain = (heading: string) => heading.toLowerCase().replace(/[^a-z0-9]/g, '');
  const common = [...new Set(headings)].filter((heading) => commonNames[field].includes(plain(heading)));
  const platform = platformNames[field]?.find((name) => headings.includes(name));
  if (common.length === 0) return platform === undefined ? [] : [platform];
  const ofTexts = common.filter((heading) => !common.includes(`${heading}_str`));
  const outer = ofTexts.filter((heading) => !heading.includes('.'));
  return outer.length > 0 ? outer : ofTexts;
}

/** Columns that look like a field which has no column, the likeliest first, each with its option. */
function likelyColumns(columns: TableColumns, looks: ColumnLooks) {
  const free = (field: TableField, candidates: Iterable<string>) =>
    [...candidates]
      .filter((heading) => columns[field] === undefined && !Object.values(columns).includes(heading))
      .map((heading) => ({ heading, option: `${optionOf(field)} ${quoted(heading)}` }));
  const labels = [...looks.labels].flatMap(([heading, values]) =>
    free(areVeracities(values) ? 'veracity' : 'label', [heading]).map((column) => ({ ...column, values })),
  );
  const hasLabel = [columns.rumor, columns.veracity, columns.label].some((heading) => heading !== undefined);
  return {
    threadId: free('threadId', looks.groups),
    text: free('text', looks.texts),
    time: free('time', looks.times),
    label: hasLabel ? [] : labels,
  };
}

/** Columns that are left out although their values look like times or labels. @returns one note per column */
export function overlookedColumns(columns: TableColumns, looks: ColumnLooks): string[] {
  const { time, label } = likelyColumns(columns, looks);
  return [
    ...time.slice(0, 1).map(({ heading, option }) => `${heading} looks like times: add ${option}`),
    ...label.map(
      ({ heading, option, values }) => `${heading} may be a label (${values.join(', ')}): if so, add ${option}`,
    ),
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
  const isLabel = ['label', 'rumor', 'veracity', 'stance'].includes(field);
  const labels = [...looks.labels].map(([name, values]) => `${name} (${values.join(', ')})`);
  const like = isLabel ? labels : field === 'time' ? looks.times : [];
  const seems = `${like.join(' and ')} ${like.length === 1 ? 'looks' : 'look'} like ${isLabel ? 'labels' : 'times'}`;
  const advice = present([isNear && `did you mean ${JSON.stringify(nearest)}?`, like.length > 0 && seems]);
  return advice.length === 0 ? '' : `; ${advice.join(' ')}`;
}
