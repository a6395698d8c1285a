const post = { id: '1', text: 'The bridge is closed.' };
const at = (id: string, time: unknown) => ({ id, text: 'x', time });
const withPost = (fields: object) => ({ id: 't', posts: [{ ...post, ...fields }] });

const taken: readonly unknown[] = [
  { id: 't', posts: [post] },
  {
    id: 't',
    event: null,
    veracity: 'unverified',
    split: 'train',
    labels: { a: 1, b: 'x', c: null },
    posts: [post],
  },
  withPost({ time: '2024-02-29T23:59:59.25+05:30', author: null, parent: '0', stance: 'deny' }),
  // The claim may be younger than a reply.
  {
    id: 't',
    posts: [at('1', '2024-01-02T00:00:00Z'), at('2', '2024-01-01T00:00:00Z'), at('3', '2024-01-01T01:00:00+01:00')],
  },
];

const refused: readonly unknown[] = [
  [],
  {},
  { posts: [post] },
  { id: '', posts: [post] },
  { id: 1, posts: [post] },
  { id: 't', posts: [] },
  { id: 't', posts: [post], label: 'escalated' },
  { id: 't', veracity: true, posts: [post] },
  { id: 't', veracity: 'fake', posts: [post] },
  { id: 't', split: null, posts: [post] },
  { id: 't', labels: { a: ['x'] }, posts: [post] },
  { id: 't', posts: [{ text: 'x' }] },
  { id: 't', posts: [{ id: '1' }] },
  withPost({ text: null }),
  withPost({ user: 'u1' }),
  withPost({ stance: 'unsure' }),
  withPost({ time: 'yesterday' }),
  withPost({ time: 1_700_000_000 }),
  withPost({ time: '2023-02-29T00:00:00Z' }),
  withPost({ time: '2024-01-01T00:00:00' }),
  withPost({ time: '2024-01-01' }),
  withPost({ time: '2024-01-01T00:00Z' }),
  withPost({ time: '2024-01-01 00:00:00Z' }),
  withPost({ time: '2024-01-01T24:00:00Z' }),
  withPost({ time: '2024-01-01T00:00:00+0100' }),
  { id: 't', posts: [post, post] },
  { id: 't', posts: [post, at('2', '2024-01-02T00:00:00Z'), at('3', '2024-01-01T23:30:00-00:15')] },
];

/** Python writes a missing number as NaN, which is not JSON. It is read as null. */
const nanOfPython = '{"id": "t", "posts": [{"id": "1", "text": "x", "time": NaN}]}';
const noJson = "{'id': 't', 'posts': [{'id': '1', 'text': 'x'}]}";

/** Lines that `earshot decide` accepts or refuses. Every reader of a bundle must agree on them. */
export const goldenRefusalLines: readonly { readonly line: string; readonly isRefused: boolean }[] = [
  ...taken.map((value) => ({ line: JSON.stringify(value), isRefused: false })),
  ...refused.map((value) => ({ line: JSON.stringify(value), isRefused: true })),
  { line: nanOfPython, isRefused: false },
  { line: noJson, isRefused: true },
];

/** Golden threads of every bundle with characters that programs with other versions of Unicode may read differently. */
export const unicodeThreads: readonly { readonly id: string; readonly texts: readonly string[] }[] = [
  {
    id: 'unicode:chinese',
    texts: [
      '网传某地发生爆炸，请大家注意安全！http://t.cn/RqXyZ12转发',
      '回复@小明：这是谣言吧？？',
      '【官方辟谣】该消息不实。Ｆｕｌｌ　ｗｉｄｔｈ １２３',
      '已证实　謠言 々〇㊗️',
    ],
  },
  {
    id: 'unicode:arabic',
    texts: ['عاجل: انفجار في وسط المدينة', '@user_1 هل هذا صحيح؟ لا أصدّق', 'ﻻ ﷺ الخبر كاذب ١٢٣', 'می‌خواهم ببینم'],
  },
  {
    id: 'unicode:emoji',
    texts: [
      '😱😱 OMG!! 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️',
      "RT @CNN: BREAKING — don't panic… https://t.co/AbC?x=1, www.example.org",
      '🫨🪿 is this real‽ ½ ﬁne ①②',
      '',
    ],
  },
  {
    id: 'unicode:mixed',
    texts: [
      'ΟΔΥΣΣΕΥΣ ΣΑΣ İstanbul Straße ǅ',
      'ข่าวลือ ไม่จริง မြန်မာ ភាសាខ្មែរ ລາວ',
      'ひらがな カタカナ ｶﾀｶﾅ 한국어 한',
      'a\u0301 e\u0301\u0323 \u1e9b\u0323 na\u00efve\tnon\u00a0breaking\u2003space\ufeff\u0085end',
    ],
  },
];
