import { withoutEntities } from '../../../text/entities.ts';

/** The form of texts in a known export. */
export interface ExportForm {
  /** The platform, for notes. */
  readonly name: string;
  /** The form in words. */
  readonly note: string;
  /** Columns of texts in this form. */
  readonly texts: readonly string[];
  /** Columns whose texts precede the others. */
  readonly before: readonly string[];
  /** A text as its writer saw it. */
  plain(text: string): string;
  /** Whether a text marks a removed post. */
  isGone(text: string): boolean;
}

interface KnownForm extends ExportForm {
  fits(has: (...headings: readonly string[]) => boolean, headings: readonly string[]): boolean;
}

const gone = /^\[ ?(?:deleted|removed|deleted by user|removed by (?:reddit|moderator)) ?]$/i;

const forms: readonly KnownForm[] = [
  {
    name: 'Reddit',
    note: '&amp; stands for &, and [removed] for no text',
    texts: ['title', 'body', 'selftext'],
    before: [],
    fits: (has) => has('created_utc') && (has('subreddit') || has('link_id')) && (has('body') || has('selftext')),
    plain: withoutEntities,
    isGone: (text) => gone.test(text.trim()),
  },
  {
    name: 'Mastodon',
    note: 'in HTML, with a content warning before the text',
    texts: ['content', 'spoiler_text'],
    before: ['spoiler_text'],
    fits: (has) => has('content', 'in_reply_to_id') && (has('account.acct') || has('account.username')),
    plain: withoutMarkup,
    isGone: () => false,
  },
  {
    name: 'X',
    note: '&amp; stands for &',
    texts: ['text', 'full_text', 'rawContent', 'content', 'renderedContent'],
    before: [],
    fits: (has, headings) =>
      has('id_str', 'full_text') ||
      has('id_str', 'text', 'in_reply_to_status_id_str') ||
      has('inReplyToTweetId') ||
      has('referenced_tweets.replied_to.id') ||
      headings.some((heading) => /^(?:edit_history_tweet_ids|public_metrics\.|__twarc\.)/.test(heading)),
    plain: withoutEntities,
    isGone: () => false,
  },
];

/** The known export with these headings; null for any other table, whose texts stay unchanged. */
export function exportForm(headings: readonly string[]): ExportForm | null {
  const all = new Set(headings);
  return forms.find(({ fits }) => fits((...names) => names.every((name) => all.has(name)), headings)) ?? null;
}

/** The text of a page in HTML. */
function withoutMarkup(html: string): string {
  const lines = html.replace(/<br\s*\/?>/gi, '\n').replace(/<\/p>\s*<p[^>]*>/gi, '\n\n');
  return withoutEntities(lines.replace(/<\/?[a-z][^>]*>/gi, '')).trim();
}
