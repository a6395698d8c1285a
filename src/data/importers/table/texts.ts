import { withoutEntities } from '../../../text/entities.ts';
import type { ImportContext } from '../importer.ts';
import { rawText, type TableRow } from './cells.ts';
import type { TableColumns } from './columns.ts';

/** The form of texts in a known export. */
interface ExportForm {
  /** The platform, for notes. */
  readonly name: string;
  /** The form in words. */
  readonly note: string;
  /** Columns of texts in this form. */
  readonly texts: readonly string[];
  /** A text as its writer saw it; null marks a removed post. */
  plain(text: string): string | null;
  fits(has: (...headings: readonly string[]) => boolean, headings: readonly string[]): boolean;
}

const gone = /^\[ ?(?:deleted|removed|deleted by user|removed by (?:reddit|moderator)) ?]$/i;

const forms: readonly ExportForm[] = [
  {
    name: 'Reddit',
    note: '&amp; stands for &, and [removed] for no text',
    texts: ['title', 'body', 'selftext'],
    plain: (text) => (gone.test(text.trim()) ? null : withoutEntities(text)),
    fits: (has) => has('created_utc') && (has('subreddit') || has('link_id')) && (has('body') || has('selftext')),
  },
  {
    name: 'Mastodon',
    note: 'in HTML, with a content warning before the text',
    texts: ['content', 'spoiler_text'],
    plain: withoutMarkup,
    fits: (has) => has('content', 'in_reply_to_id') && (has('account.acct') || has('account.username')),
  },
  {
    name: 'X',
    note: '&amp; stands for &',
    texts: ['text', 'full_text', 'rawContent', 'content', 'renderedContent'],
    plain: withoutEntities,
    fits: (has, headings) =>
      has('id_str', 'full_text') ||
      has('id_str', 'text', 'in_reply_to_status_id_str') ||
      has('inReplyToTweetId') ||
      has('referenced_tweets.replied_to.id') ||
      headings.some((heading) => /^(?:edit_history_tweet_ids|public_metrics\.|__twarc\.)/.test(heading)),
  },
];

/** The text of a page in HTML. */
function withoutMarkup(html: string): string {
  const lines = html.replace(/<br\s*\/?>/gi, '\n').replace(/<\/p>\s*<p[^>]*>/gi, '\n\n');
  return withoutEntities(lines.replace(/<\/?[a-z][^>]*>/gi, '')).trim();
}

/** Reads the texts of posts, in the form of a known export or unchanged. */
export function postTextReader(columns: TableColumns, headings: readonly string[], { rules, count }: ImportContext) {
  const all = new Set(headings);
  const form = forms.find(({ fits }) => fits((...names) => names.every((name) => all.has(name)), headings)) ?? null;
  const isThere = (column: string | undefined): column is string => column !== undefined && all.has(column);
  // All texts of these columns are read, and the first one of the others.
  const before = [columns.title, form?.name === 'Mastodon' ? 'spoiler_text' : undefined].filter(isThere);
  // In Reddit, the text of a comment is its body, and that of a submission its selftext.
  const bodies = form?.name === 'Reddit' ? ['body', 'selftext'] : [];
  const isBody = columns.text !== undefined && bodies.includes(columns.text);
  const texts = [...new Set([columns.text, ...(isBody ? bodies : [])].filter(isThere))];
  const textIn = (row: TableRow, column: string) => {
    const raw = rawText(row, column, rules);
    if (raw === '' || !form?.texts.includes(column)) return raw;
    const plain = form.plain(raw);
    if (plain === null) count('# texts were deleted or removed before the export and are empty');
    return plain ?? '';
  };
  return {
    columns: [...before, ...texts],
    /** The form in words; null for any other table. */
    note: form && `texts are read as exports of ${form.name} write them: ${form.note}`,
    /** The title and the text of a post. */
    of(row: TableRow): string {
      const parts = before.map((column) => textIn(row, column));
      for (const column of texts) {
        parts.push(textIn(row, column));
        if (parts.at(-1) !== '') break;
      }
      // Some exports repeat a text as its title.
      return [...new Set(parts)].filter((part) => part !== '').join('\n');
    },
    /** Whether an author marks a removed post. */
    isGone: (author: string) => form?.plain(author) === null,
  };
}
