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
