import { type Entity, withoutLinks } from './text-spans.ts';

const UNIT =
  '%|‰|°[CF]?|percent|per cent|km|m|cm|mm|miles?|kg|g|mg|tons?|tonnes?|million|billion|trillion|thousand|hundred|dollars?|euros?|pounds?|yuan|years?|months?|weeks?|days?|hours?|minutes?|people|deaths?|dead|cases|亿|万|元|人|名|岁|年|月|日|公里|吨|美元';

/** Patterns in order of precedence: a later one sees only what earlier ones left. */
const PATTERNS: readonly { type: string; confidence: number; pattern: RegExp }[] = [
  { type: 'HASHTAG', confidence: 0.9, pattern: /[#＃][\p{L}\p{N}_]+/gu },
  { type: 'HANDLE', confidence: 0.9, pattern: /@[A-Za-z0-9_]+/g },
  // Titles of books and films, and Chinese quotations.
  {
    type: 'QUOTED',
    confidence: 0.85,
    pattern: /(?<=《)[^《》]{1,40}(?=》)|(?<=[「『“])[^「」『』“”]{1,40}(?=[」』”])/gu,
  },
  {
    type: 'NAME',
    confidence: 0.8,
    pattern:
      /(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}\p{M}.&'’-]*(?:(?: (?:of|de|da|van|von|al|bin|el|la|du|the))* \p{Lu}[\p{L}\p{N}\p{M}.&'’-]*)*/gu,
  },
  {
    type: 'QUANTITY',
    confidence: 0.5,
    pattern: new RegExp(
      `[$€£¥]\\s?\\d[\\d,.]*(?:\\s?(?:million|billion|trillion|k|m|bn))?|\\d[\\d,.]*\\s?(?:${UNIT})(?![a-z])`,
      'giu',
    ),
  },
  // Runs in scripts without capitals. Without a word list a name's beginning is unknown, so a whole clause is taken.
  {
    type: 'CLAUSE',
    confidence: 0.2,
    pattern:
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Devanagari}]{2,12}/gu,
  },
];

/**
 * Finds candidates for names without a model: hashtags, handles, quoted titles, runs of capitalised words, numbers with
 * units, and clauses in scripts without capitals. The confidences are not probabilities; they make the falling
 * threshold prefer more reliable patterns.
 */
export function patternEntities(text: string): Entity[] {
  const entities: Entity[] = [];
  // Matches are replaced by spaces, so that the rest of a run can still match.
  let rest = withoutLinks(text);
  for (const { type, confidence, pattern } of PATTERNS)
    rest = rest.replace(pattern, (match: string, offset: number) => {
      const span = type === 'NAME' ? nameWithin(match) : { from: 0, to: match.length };
      if (span === null) return match;
      const start = offset + span.from;
      const end = offset + span.to;
      entities.push({ text: text.slice(start, end), start, end, type, confidence });
      // Spaces of the same length keep all positions.
      return ' '.repeat(match.length);
    });
  return entities.sort((one, other) => one.start - other.start);
}

/** A run of capitalised words, without words at its edges that are not names. */
function nameWithin(run: string): { from: number; to: number } | null {
  let words = [...run.matchAll(/\S+/g)].map((match) => ({ from: match.index, to: match.index + match[0].length }));
  const isName = ({ from, to }: { from: number; to: number }) => !namesNothing(run.slice(from, to));
  const first = words.findIndex(isName);
  if (first < 0) return null;
  words = words.slice(first, words.findLastIndex(isName) + 1);
  const from = words[0].from;
  const length = run.slice(from, words[words.length - 1].to).replace(/(?:['’]s?|[.&-])+$/u, '').length;
  return length < 2 ? null : { from, to: from + length };
}

/** Words that are never names, even if capitalised at the beginning of a sentence. */
const NO_NAMES = new Set(
  (
    'a about after again all also am an and another any are as at be because been before being both but by can could did ' +
    'do does during each every few for from get had has have he her here him his how however i if in into is it its just ' +
    'let made many may me might more most much must my never no not now of off on once one only or other our out over ' +
    'please rt same see she should so some such than thanks that the their them then there these they this those though ' +
    'to today too under until up us very via was we were what when where which while who whom why will with would yes ' +
    'yesterday you your breaking watch update'
  ).split(' '),
);

export function namesNothing(word: string): boolean {
  return NO_NAMES.has(word.toLowerCase().replace(/['’.].*$/, ''));
}
