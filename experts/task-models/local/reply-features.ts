import { maskHandlesAndUrls, normalizeText } from '../../../src/text/text-scanner.ts';
import { jaccardIndex, wordSet } from '../../../src/text/word-set.ts';
import type { StanceItem } from '../task-model.ts';
import { BoundedCache } from './text-reader.ts';

/*
 * Features of a reply that need no understanding: its relation to its claim and its parent, its place in the thread,
 * marks and lengths. Such features carried the systems of RumourEval (Kochkina, Liakata & Augenstein, "Turing at
 * SemEval-2017 Task 8", https://aclanthology.org/S17-2083). Every value lies roughly in [0, 1]. Untrained weights are
 * 0, so without stance labels the features have no effect.
 */

interface Marks {
  readonly words: ReadonlySet<string>;
  readonly asks: boolean;
  readonly endsAsking: boolean;
  readonly exclaims: boolean;
  readonly negates: boolean;
  readonly links: boolean;
  readonly handles: number;
  readonly hashtags: boolean;
  readonly quotes: boolean;
  readonly length: number;
  readonly capitals: number;
}

const NEGATION = /(?<![a-z])(?:no|not|never|nope|nah|none|nobody|nothing|[a-z]+n['\u2019]?t)(?![a-z])/u;

function marksOf(text: string): Marks {
  const masked = maskHandlesAndUrls(normalizeText(text));
  const spoken = masked.replace(/@USER|HTTPURL/gu, ' ');
  const letters = spoken.match(/\p{L}/gu)?.length ?? 0;
  return {
    words: wordSet(text),
    asks: spoken.includes('?'),
    endsAsking: /\?\W*$/u.test(spoken),
    exclaims: spoken.includes('!'),
    negates: NEGATION.test(spoken.toLowerCase()),
    links: masked.includes('HTTPURL') || /\burl\b/iu.test(masked),
    handles: masked.match(/@USER/gu)?.length ?? 0,
    hashtags: spoken.includes('#'),
    quotes: /["\u201c\u201d]/u.test(spoken),
    length: Math.log1p(spoken.match(/\S+/gu)?.length ?? 0) / 4,
    capitals: (spoken.match(/\p{Lu}/gu)?.length ?? 0) / Math.max(1, letters),
  };
}

interface Reply {
  readonly post: Marks;
  readonly claim: Marks;
  /** The marks of the parent; null if unknown. */
  readonly parent: Marks | null;
  readonly depth: number | null;
  readonly minutesSinceClaim: number | null;
}

const features: readonly ((reply: Reply) => number | boolean)[] = [
  ({ post, parent }) => (parent === null ? 0 : jaccardIndex(post.words, parent.words)),
  ({ parent }) => parent === null,
  ({ depth }) => depth === 1,
  ({ depth }) => (depth === null ? 0 : Math.log1p(depth) / 3),
  ({ post }) => post.asks,
  ({ post }) => post.endsAsking,
  ({ claim }) => claim.asks,
  ({ parent }) => parent?.asks ?? false,
  ({ post }) => post.negates,
  ({ claim }) => claim.negates,
  ({ parent }) => parent?.negates ?? false,
  ({ post }) => post.exclaims,
  ({ post }) => post.links,
  ({ claim }) => claim.links,
  ({ post }) => Math.min(1, post.handles / 4),
  ({ post }) => post.hashtags,
  ({ post }) => post.quotes,
  ({ post }) => post.capitals,
  ({ post }) => post.length,
  ({ claim }) => claim.length,
  ({ post, claim }) => post.length / Math.max(0.1, claim.length + post.length),
  ({ minutesSinceClaim }) => (minutesSinceClaim === null ? 0 : Math.log1p(Math.max(0, minutesSinceClaim)) / 8),
  ({ minutesSinceClaim }) => minutesSinceClaim === null,
];

export const replyFeatureCount = features.length;

/** Cached texts, in words of about 50 bytes each. */
const CACHED_WORDS = 2_000_000;

/**
 * Reads replies. `overlap` is the share of words that a reply and its claim have in common (Jaccard index, in [0, 1]),
 * 1 if it repeats the claim; handles and links do not count. `features` are [replyFeatureCount].
 */
export function replyReader(): (item: StanceItem) => { overlap: number; features: () => number[] } {
  const cache = new BoundedCache<Marks>({ maximumSize: CACHED_WORDS, sizeOf: ({ words }) => words.size + 12 });
  const marks = (text: string) => {
    const cached = cache.get(text) ?? marksOf(text);
    cache.set(text, cached);
    return cached;
  };
  return ({ claim: claimText, post: postText, place }) => {
    const [post, claim] = [marks(postText), marks(claimText)];
    const parent = place?.parent ?? null;
    return {
      overlap: jaccardIndex(claim.words, post.words),
      features() {
        const reply: Reply = {
          post,
          claim,
          parent: parent === null ? null : marks(parent),
          depth: place?.depth ?? null,
          minutesSinceClaim: place?.minutesSinceClaim ?? null,
        };
        return features.map((feature) => Number(feature(reply)));
      },
    };
  };
}
