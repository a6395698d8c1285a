import { emojiAliases } from './emoji-aliases.ts';

const token = new RegExp(
  [
    // Links, with a scheme or without, not ending in punctuation of the sentence; bare domains, not parts of addresses.
    String.raw`(?:https?:(?:\/{1,3}|[a-z0-9%])|www\.|[a-z0-9.\-]+\.[a-z]{2,13}\/)[^\s<>{}\[\]]*[^\s!()\[\]{};:'".,<>?«»“”‘’\x60]`,
    String.raw`(?<![@\w])[a-z0-9]+(?:[.\-][a-z0-9]+)*\.[a-z]{2,13}\b\/?(?!@)`,
    String.raw`(?:\+?[01][\-\s.]*)?(?:\(?\d{3}[\-\s.)]*)?\d{3}[\-\s.]*\d{4}`,
    // Emoticons in both directions, and the heart.
    String.raw`[<>]?[:;=8][\-o*']?[)\](\[dp\/:}{@|\\]|[)\](\[dp\/:}{@|\\][\-o*']?[:;=8][<>]?|<\/?3`,
    String.raw`<[^>\s]+>`,
    '-+>|<-+',
    String.raw`[\w.+\-]+@[\w\-]+\.(?:[\w\-]\.?)+[\w\-]`,
    String.raw`@[\p{L}\p{N}_]+`,
    String.raw`#+[\p{L}\p{N}_]+[\p{L}\p{N}_'\-]*[\p{L}\p{N}_]+`,
    // Words with inner apostrophes and dashes, numbers with inner signs, other words, dots in a row, anything else.
    String.raw`\p{L}[\p{L}'\-_]+\p{L}`,
    String.raw`[+\-]?\d+[,\/.:\-]\d+[+\-]?`,
    String.raw`[\p{L}\p{N}_]+`,
    String.raw`\.(?:\s*\.)+`,
    String.raw`\S`,
  ].join('|'),
  'giu',
);

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/**
 * A tweet as BERTweet saw it in training (VinAI's TweetNormalizer over NLTK's TweetTokenizer): tokens separated by
 * spaces, handles as @USER, links as HTTPURL, emoji by name, plain apostrophes and ellipses, contractions split.
 * https://github.com/VinAIResearch/BERTweet
 *
 * Differs in rare cases: HTML entities other than numbers and the six common ones are kept, and so are emoji without an
 * entry in `emojiAliases`.
 */
export function normalizeTweet(text: string): string {
  const plain = decodeEntities(text.replaceAll('’', "'").replaceAll('…', '...'))
    // NLTK shortens a run of one sign to three before it looks for tokens.
    .replace(/([^a-zA-Z0-9])\1{3,}/gu, '$1$1$1');
  const words = (plain.match(token) ?? []).map(normalizeToken).join(' ');
  return joinTimes(splitContractions(words)).replace(/\s+/gu, ' ').trim();
}

function normalizeToken(word: string): string {
  if (word.startsWith('@')) return word.length > 1 ? '@USER' : word;
  if (/^(?:http|www)/iu.test(word)) return 'HTTPURL';
  return emojiAliases.get(word) ?? word;
}

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/giu, (whole, decimal, hexadecimal, name) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
    const codePoint = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
    return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : whole;
  });
}

/** Only before a space, because in training the last word of a tweet kept its contraction. */
function splitContractions(text: string): string {
  return text
    .replaceAll('cannot ', 'can not ')
    .replace(/n ?'t /gu, " n't ")
    .replace(/\b(ca|ai) n't/gu, (_, stem) => (stem === 'ca' ? "can't" : "ain't"))
    .replace(/'(m|re|s|ll|d|ve) /gu, " '$1 ");
}

function joinTimes(text: string): string {
  return text.replace(/ ([ap]) \. m( \.|(?= ))/gu, (_, half, dot) => ` ${half}.m${dot === '' ? '' : '.'}`);
}
