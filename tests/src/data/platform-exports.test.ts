import { expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { collect, temporaryFolder } from './fixtures.ts';

/* Exports of platforms as their programs write them, in miniature. */

async function imported(format: string, files: Record<string, string>) {
  const folder = temporaryFolder(files);
  const notes: string[] = [];
  const paths = Object.keys(files).map((name) => `${folder}/${name}`);
  const threads = await collect(importThreads(format, { paths, onNote: (note) => notes.push(note) }));
  return { threads, notes };
}

const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const posts = (threads: readonly Thread[]) =>
  threads.map((thread) => thread.posts.map(({ id, parent, author, text }) => [id, parent, author, text]));

it('leaves out pages of twarc2 without posts, with a count', async () => {
  const tweet = {
    id: '100',
    conversation_id: '100',
    text: 'a claim',
    created_at: '2021-05-04T10:00:00.000Z',
    author_id: '7',
  };
  const { threads, notes } = await imported('posts', {
    'a.jsonl': lines(
      { errors: [{ title: 'Forbidden', detail: 'x', type: 'about:blank' }] },
      {
        data: [tweet, { ...tweet, id: '101', text: 'no' }],
        errors: [{ title: 'Not Found' }],
        meta: { result_count: 2 },
      },
      { meta: { result_count: 0 }, __twarc: { url: 'x' } },
      { data: [], meta: { result_count: 0 } },
      { title: 'Too Many Requests', status: 429, errors: [] },
    ),
  });
  expect(posts(threads)).toEqual([
    [
      ['100', null, '7', 'a claim'],
      ['101', null, '7', 'no'],
    ],
  ]);
  expect(notes).toContain('3 pages hold no posts');
});

const submission = {
  id: 'aaaaa0',
  name: 't3_aaaaa0',
  title: 'A &amp; B',
  selftext: 'The whole &gt; story',
  author: 'u',
  created_utc: 1_700_000_000,
  subreddit: 'x',
};
const comment = {
  id: 'bbbb00',
  link_id: 't3_aaaaa0',
  parent_id: 't3_aaaaa0',
  body: 'R&amp;D',
  author: 'v',
  created_utc: 1_700_000_100,
  subreddit: 'x',
};

it('reads the texts of submissions and comments of Reddit, and none of those that are gone', async () => {
  const { threads, notes } = await imported('posts', {
    'submissions.jsonl': lines(
      submission,
      { ...submission, id: 'aaaaa1', selftext: '[removed]' },
      { ...submission, id: 'aaaaa2', selftext: '' },
    ),
    'comments.jsonl': lines(
      comment,
      {
        ...comment,
        id: 'bbbb01',
        parent_id: 't1_bbbb00',
        body: '[deleted]',
        author: '[deleted]',
        created_utc: 1_700_000_101,
      },
      { ...comment, id: 'bbbb02', link_id: 't3_aaaaa1', parent_id: 't3_aaaaa1', body: '[ Removed by Reddit ]' },
    ),
  });
  expect(posts(threads)).toEqual([
    [
      ['aaaaa0', null, 'u', 'A & B\nThe whole > story'],
      ['bbbb00', 'aaaaa0', 'v', 'R&D'],
      ['bbbb01', 'bbbb00', null, ''],
    ],
    [
      ['aaaaa1', null, 'u', 'A & B'],
      ['bbbb02', 'aaaaa1', 'v', ''],
    ],
    [['aaaaa2', null, 'u', 'A & B']],
  ]);
  expect(notes).toContain('3 texts were deleted or removed before the export and are empty');
  expect(notes.join('\n')).toContain('text from "selftext", too');
});

it('reads a thread as Reddit’s address with .json has it', async () => {
  const listing = (...children: unknown[]) => ({ kind: 'Listing', data: { after: null, children } });
  const reply = {
    ...comment,
    id: 'cccc00',
    parent_id: 't1_bbbb00',
    body: 'yes',
    replies: '',
    created_utc: 1_700_000_200,
  };
  const more = { kind: 'more', data: { count: 3, children: ['dddd00'], id: 'dddd00', parent_id: 't1_bbbb00' } };
  const thread = [
    listing({ kind: 't3', data: submission }),
    listing({ kind: 't1', data: { ...comment, replies: listing({ kind: 't1', data: reply }, more) } }),
  ];
  const { threads, notes } = await imported('posts', { 'thread.json': JSON.stringify(thread) });
  expect(posts(threads)).toEqual([
    [
      ['aaaaa0', null, 'u', 'A & B\nThe whole > story'],
      ['bbbb00', 'aaaaa0', 'v', 'R&D'],
      ['cccc00', 'bbbb00', 'v', 'yes'],
    ],
  ]);
  expect(notes).toContain('1 comments are stubs that name replies which the export lacks');
});

const toot = (id: string, content: string, more: object = {}) => ({
  id,
  created_at: `2023-05-04T10:0${id}:00.000Z`,
  in_reply_to_id: id === '0' ? null : '0',
  content,
  account: { acct: 'ann@x', username: 'ann' },
  spoiler_text: '',
  card: { title: 'A title' },
  ...more,
});

it('reads toots of Mastodon as their readers see them', async () => {
  const html =
    '<p>one &amp; <a href="https://x.org"><span class="invisible">https://</span><span>x.org</span></a></p><p>two<br />three &lt;3 &#39;q&#39;</p>';
  const { threads } = await imported('posts', {
    'a.jsonl': lines(toot('0', html, { spoiler_text: 'Politics' }), toot('1', '<p>&amp;lt; is &lt;</p>')),
  });
  expect(posts(threads)).toEqual([
    [
      ['0', null, 'ann@x', "Politics\none & https://x.org\n\ntwo\nthree <3 'q'"],
      ['1', '0', 'ann@x', '&lt; is <'],
    ],
  ]);
  const context = { ancestors: [toot('0', '<p>a</p>')], descendants: [toot('1', '<p>b</p>')] };
  const whole = await imported('posts', { 'context.json': JSON.stringify(context) });
  expect(posts(whole.threads)).toEqual([
    [
      ['0', null, 'ann@x', 'a'],
      ['1', '0', 'ann@x', 'b'],
    ],
  ]);
});

it('reads tweets of snscrape with what they answer', async () => {
  const tweet = (id: number, inReplyToTweetId: string | null) => ({
    _type: 'snscrape.modules.twitter.Tweet',
    id: `158000000000000012${id}`,
    conversationId: '1580000000000000120',
    date: `2022-10-12T00:0${id}:00+00:00`,
    rawContent: `tweet ${id} &amp; more`,
    renderedContent: `tweet ${id} & more`,
    user: { username: 'ann', id: 7 },
    inReplyToTweetId,
    inReplyToUser: null,
  });
  // Their ids are numbers, which keep their digits.
  const text = lines(tweet(0, null), tweet(1, '1580000000000000120')).replace(/"(158\d+)"/g, '$1');
  const { threads } = await imported('posts', { 'a.jsonl': text });
  expect(posts(threads)).toEqual([
    [
      ['1580000000000000120', null, '7', 'tweet 0 & more'],
      ['1580000000000000121', '1580000000000000120', '7', 'tweet 1 & more'],
    ],
  ]);
});

it('reads the columns of twarc-csv', async () => {
  const csv = [
    'id,conversation_id,referenced_tweets.replied_to.id,referenced_tweets.quoted.id,author_id,in_reply_to_user_id,in_reply_to_username,created_at,text,public_metrics.like_count,author.id,author.created_at,author.username,author.name,__twarc.retrieved_at',
    '100,100,,,7,,,2021-05-04T10:00:00.000Z,R&amp;D &lt;3,0,7,2010-01-01T00:00:00.000Z,ann,Ann,2021-06-01T00:00:00+00:00',
    '101,100,100,,8,7,ann,2021-05-04T10:01:00.000Z,no,0,8,2011-01-01T00:00:00.000Z,bob,Bob,2021-06-01T00:00:00+00:00',
    '',
  ].join('\n');
  const { threads } = await imported('csv', { 'tweets.csv': csv });
  expect(posts(threads)).toEqual([
    [
      ['100', null, '7', 'R&D <3'],
      ['101', '100', '8', 'no'],
    ],
  ]);
});

it('leaves the texts of other tables as they stand', async () => {
  const { threads } = await imported('csv', { 'a.csv': 'thread,text\nt,R&amp;D <b>[removed]</b>\nt,[removed]\n' });
  expect(threads[0].posts.map(({ text }) => text)).toEqual(['R&amp;D <b>[removed]</b>', '[removed]']);
});
