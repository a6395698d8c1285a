import { maskHandlesAndUrls, normalizeText } from '../../../src/text/text-scanner.ts';
import { stanceClasses } from '../task-model.ts';

const words = (...alternatives: string[]) =>
  new RegExp(`(?<![a-z0-9_])(?:${alternatives.join('|')})(?![a-z0-9_])`, 'gu');

const NOT = "(?:not|isn'?t|aren'?t|wasn'?t|ain'?t|never|hardly)";

/**
 * A small part of what a language model knows: how English speakers online say that something is true, false or
 * unclear. The expressions come from guidelines for stance annotation; the weights are round numbers near those of a
 * fit to replies of the COVID-19 rumour dataset.
 */
const englishCues: readonly {
  readonly name: string;
  readonly pattern: RegExp;
  readonly weights: Readonly<Partial<Record<(typeof stanceClasses)[number], number>>>;
}[] = [
  {
    name: 'support words',
    pattern: words(
      `(?<!${NOT} (?:yet |been |officially )*)confirm(?:ed|s)?`,
      `(?<!${NOT} (?:so |even |really |exactly )?)(?:true|correct|accurate|right)(?= *[.,!;:)]| *$)`,
      'so true',
      "(?:it|this|that)(?:'?s| is) (?:true|correct|real|happening|right|a fact)",
      'tru(?:th|e) that',
      'yes',
      'yep',
      'yeah',
      'yup',
      'indeed',
      'exactly',
      'absolutely',
      'definitely',
      'agreed?',
      'totally',
      'of course',
      'well said',
      'preach',
      'facts',
      'spot on',
      'proven',
      'verified',
      'official(?:ly)?',
      'i (?:saw|heard|witnessed)',
      "(?:you'?re|you are|ur|he'?s|she'?s|they'?re) (?:so |absolutely |totally )?(?:right|correct)",
    ),
    weights: { support: 4, query: -1 },
  },
  {
    name: 'deny words',
    pattern: words(
      'fakes?',
      'faked',
      'false',
      'hoax(?:es)?',
      'lies',
      'lie',
      'lied',
      'liars?',
      'lying',
      'untrue',
      'debunk(?:ed|s|ing)?',
      'bullshit',
      'bs',
      'nonsense',
      'rubbish',
      'bollocks',
      'fabricat(?:ed|ion)',
      'made[ -]up',
      'misinformation',
      'disinformation',
      'misleading',
      'propaganda',
      'wrong',
      'incorrect',
      'inaccurate',
      'photoshop(?:ped)?',
      'myth',
      'satire',
      'parody',
      'rumou?rs?',
      'conspiracy',
      'fear ?mongering',
      'clickbait',
      'no (?:evidence|proof|truth)',
      `${NOT} (?:so |even |really |exactly |at all )?(?:(?:yet |been |officially )*confirmed|true|correct|right|accurate|real|happening|the case)`,
      "(?:never|did ?n[o']?t|didnt) happen(?:ed)?",
      'stop (?:lying|spreading|sharing|posting)',
      'delete this',
    ),
    weights: { deny: 4, support: -0.5 },
  },
  {
    name: 'negations',
    pattern: words(
      'no',
      'not',
      'never',
      'nope',
      'nah',
      "[a-z]+n't",
      'dont',
      'doesnt',
      'didnt',
      'isnt',
      'wasnt',
      'cant',
    ),
    weights: { deny: 2, support: -1 },
  },
  // A row of question marks counts as one: "????" expresses no more doubt, and is often the rest of emoji.
  { name: 'question marks', pattern: /\?+/gu, weights: { query: 2 } },
  {
    name: 'query words',
    pattern: words(
      'source',
      'sources\\?',
      'really *\\?',
      'is (?:this|it|that) (?:true|real|legit|confirmed|fake|for real|a joke)',
      '(?:is|was|are|were|did|does|do|has|have|can|could|will|would|any|how|what|when|where|which|who|why)(?= [^.!?]*\\?)',
      'any (?:proof|evidence|confirmation|link|source|news|update)s?',
      'evidence *\\?',
      'proof *\\?',
      'link *\\?',
      'true *\\?',
      'how do (?:you|we|they) know',
      'who (?:says|said|told)',
      'says who',
      'can (?:anyone|someone|you|anybody) (?:please )?(?:confirm|verify|explain|tell)',
      '(?:please|pls) (?:confirm|verify)',
      'i wonder',
    ),
    weights: { query: 3, support: -1 },
  },
];

/** How much the logit of `comment` exceeds that of any other stance in a post without cues. */
const COMMENT_BIAS = 1.2;

/** The addressees of a reply and the links at its end, which are not part of its content. */
const FRAME = /^(?:@user|rt|:|\s|\.)+|(?:httpurl|\s)+$/gu;

export interface ReadCues {
  /** Matches in the order of the cues, then of the text. */
  readonly matches: readonly {
    /** The matched text in lower case. */
    readonly expression: string;
    readonly cue: number;
  }[];
  /** Each cue's count divided by the square root of the number of words: "Fake." weighs more than one "fake" in a long text. */
  readonly values: Float64Array;
}

/** Reads the cues of one language as features, with weights from before any training. */
export interface CueReader {
  readonly count: number;
  read(text: string): ReadCues;
  /** Index of the cue that denies outright; null without one. */
  readonly denial: number | null;
  /** `[cues, stances]` */
  readonly priorWeights: Float64Array;
  /** `[stances]` */
  readonly priorIntercept: Float64Array;
}

const englishCueReader: CueReader = {
  count: englishCues.length,
  read(text) {
    const cleaned = maskHandlesAndUrls(normalizeText(text)).toLowerCase().replaceAll('\u2019', "'").replace(FRAME, '');
    const matches = englishCues.flatMap(({ pattern }, cue) =>
      Array.from(cleaned.matchAll(pattern), ([expression]) => ({ expression: expression.replace(/\?+/gu, '?'), cue })),
    );
    const values = new Float64Array(englishCues.length);
    const words = cleaned.split(' ').length;
    for (const { cue } of matches) values[cue] += 1 / Math.sqrt(1 + words);
    return { matches, values };
  },
  denial: englishCues.findIndex(({ name }) => name === 'deny words'),
  priorWeights: Float64Array.from(
    englishCues.flatMap(({ weights }) => stanceClasses.map((name) => weights[name] ?? 0)),
  ),
  priorIntercept: Float64Array.from(stanceClasses, (name) => (name === 'comment' ? COMMENT_BIAS : 0)),
};

/** For other languages: no cues, so all stances are equally likely before training. */
const noCueReader: CueReader = {
  count: 0,
  read: () => ({ matches: [], values: new Float64Array(0) }),
  denial: null,
  priorWeights: new Float64Array(0),
  priorIntercept: new Float64Array(stanceClasses.length),
};

export const cueReaders = { english: englishCueReader, none: noCueReader };
