import type { TokenLogprob } from '../chat.ts';
import type { AnswerWords } from './answer-words.ts';

const LEADING = /^[\s\u2581\u0120"'`*_([{]+/u;
const WORD_CHARACTER = /[\p{L}\p{N}]/u;

/** The largest share of the mass that unknown labels may have. */
const MOST_UNKNOWN = 0.05;

/**
 * The probability of each label, from the log-probabilities of an answer that begins with one of the answer words. At
 * each token the likeliest alternatives are read. An alternative that decides for a label gives it its mass. A
 * beginning that several labels share is followed further if the model chose it, and its mass is split by the possible
 * next tokens.
 *
 * A label without an alternative has at most the mass of the least likely listed one, and at most all unlisted mass. It
 * gets that much, so that no label is certain because others are not listed. Null if no label has any mass, or if more
 * than 5% of it would be assigned this way: a token without its alternatives says nothing about the other labels.
 */
export function classProbabilities(options: {
  answerWords: AnswerWords;
  logprobs: readonly TokenLogprob[];
}): Record<string, number> | null {
  const { logprobs } = options;
  const words = Object.entries(options.answerWords).flatMap(([label, labelWords]) =>
    labelWords.map((word) => ({ label, word: word.toLowerCase() })),
  );
  const mass = new Map(Object.keys(options.answerWords).map((label) => [label, 0]));
  const give = (label: string, amount: number) => mass.set(label, (mass.get(label) ?? 0) + amount);

  let prefix = '';
  let reached = 1;
  /** Mass that is not listed: all of it, and the most that one label may have of it. */
  const unlisted = { all: 0, each: 0 };
  for (const [position, { token, logprob, top }] of logprobs.entries()) {
    const others = top.filter((alternative) => alternative.token !== token);
    const chances = [logprob, ...others.map((other) => other.logprob)].map(Math.exp);
    if (new Set(words.filter(({ word }) => word.startsWith(prefix)).map(({ label }) => label)).size > 1) {
      const rest = Math.max(0, 1 - chances.reduce((total, each) => total + each, 0));
      unlisted.all += reached * rest;
      unlisted.each += reached * Math.min(rest, ...chances);
    }
    for (const alternative of others) {
      const decision = decide({ text: joinTokens(prefix, alternative.token), words, next: null, isLast: true });
      if (decision.label !== null) give(decision.label, reached * Math.exp(alternative.logprob));
    }
    reached *= Math.exp(logprob);
    prefix = joinTokens(prefix, token);
    const next = logprobs[position + 1]?.token ?? null;
    const decision = decide({ text: prefix, words, next, isLast: next === null });
    if (decision.label !== null && decision.isCertain) give(decision.label, reached);
    if (decision.isCertain) break;
  }

  const knownMass = [...mass.values()].reduce((total, value) => total + value, 0);
  const missing = [...mass].flatMap(([label, value]) => (value === 0 ? [label] : []));
  const unknown = Math.min(unlisted.all, unlisted.each * missing.length);
  const sum = knownMass + unknown;
  if (knownMass === 0 || unknown > MOST_UNKNOWN * sum) return null;
  for (const label of missing) give(label, unknown / missing.length);
  return Object.fromEntries([...mass].map(([label, value]) => [label, value / sum]));
}

/** Quotes, spaces and Markdown may precede the answer, but not interrupt it. */
function joinTokens(prefix: string, token: string): string {
  return (prefix + token.toLowerCase()).replace(LEADING, '');
}

/**
 * The label that the beginning of an answer stands for. It is certain if no further token can change it. A beginning
 * that only words of one label share stands for that label, although the rest may still differ.
 */
function decide(options: {
  text: string;
  words: readonly { label: string; word: string }[];
  /** The token that follows, if known. */
  next: string | null;
  /** Whether nothing more is known about the rest of the answer. */
  isLast: boolean;
}): { label: string | null; isCertain: boolean } {
  const { text, words, next, isLast } = options;
  if (text === '') return { label: null, isCertain: isLast };
  const longer = words.filter(({ word }) => word.length > text.length && word.startsWith(text));
  // A word must end with the answer word: "yes." is a yes, "yesterday" is not. If two words fit, the longer one counts.
  const ended = words
    .filter(({ word }) => text.startsWith(word) && text.length > word.length && endsAt(text, word.length))
    .sort((one, other) => other.word.length - one.word.length)[0];
  if (ended && longer.length === 0) return { label: ended.label, isCertain: true };
  const equal = words.find(({ word }) => word === text);
  const possible = new Set([...longer, ...(equal ? [equal] : []), ...(ended ? [ended] : [])].map(({ label }) => label));
  if (possible.size === 0) return { label: null, isCertain: true };
  const agreed = possible.size === 1 ? [...possible][0] : null;
  if (isLast) return { label: equal?.label ?? ended?.label ?? agreed, isCertain: true };
  // A complete word needs no further reading, unless it goes on: "no" followed by "body" is not a no.
  const isWhole = equal !== undefined && next !== null && endsAt(next, 0);
  return { label: agreed, isCertain: isWhole && agreed !== null };
}

function endsAt(text: string, index: number): boolean {
  return !WORD_CHARACTER.test(text.charAt(index));
}

/** The share of each label among several answers, without unreadable ones (null); null if all are unreadable. */
export function sampledProbabilities(options: {
  labels: readonly string[];
  answers: readonly (string | null)[];
}): Record<string, number> | null {
  const { labels, answers } = options;
  const readable = answers.filter((answer): answer is string => answer !== null);
  if (readable.length === 0) return null;
  const countOf = (label: string) => readable.filter((answer) => answer === label).length;
  return Object.fromEntries(labels.map((label) => [label, countOf(label) / readable.length]));
}
