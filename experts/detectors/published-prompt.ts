import type { Prefix } from '../../src/data/thread.ts';
import { estimateTokens } from '../llm/cost/estimate.ts';

/** Of the published prompt, which is no file: it is what it is. */
export const PUBLISHED_VERSION = 1;

/** The authors' code has one instruction for both, in other words (single-prompt.ts); this stays whatever the file of prompts says. */
export const publishedInstruction = ({ subject, question, answers }: InstructionParts) =>
  `Analyze the given ${subject} and decide: ${question} Respond ${answers} only.`;

export interface InstructionParts extends Readonly<Record<string, string>> {
  readonly subject: string;
  readonly question: string;
  readonly answers: string;
}

export function publishedPrompt({ instruction, prefix, promptTokens }: PromptParts): string {
  const lines = prefix.posts.map(({ text }, index) => `Post ${index + 1}: ${text.replace(/\s+/gu, ' ').trim()}`);
  const posts = [...lines, lines[0], instruction].join('\n');
  return `${instruction}\n\nPosts:\n${promptTokens === null ? posts : lastTokens({ text: posts, tokens: promptTokens })}`;
}

interface PromptParts {
  readonly instruction: string;
  readonly prefix: Prefix;
  readonly promptTokens: number | null;
}

/** The longest end of a text that has at most this many tokens, as estimated. */
function lastTokens({ text, tokens }: { text: string; tokens: number }): string {
  if (estimateTokens(text) <= tokens) return text;
  let start = 0;
  for (let end = text.length; start < end; ) {
    const middle = (start + end) >> 1;
    if (estimateTokens(text.slice(middle)) <= tokens) end = middle;
    else start = middle + 1;
  }
  return text.slice(start);
}
