import { quotedEvidence } from '../prompt-text.ts';

/** To be raised with every change to this file that changes what a model is told. */
export const PROMPT_VERSION = 3;

/** The judge's answer when neither side is convincing. */
export const insufficient = 'insufficient';

/** §4.1.1 */
export const linguisticDimensions = [
  { name: 'sentence', meaning: 'how complex the words are, how long the sentences, how formal the tone' },
  { name: 'word', meaning: 'how frequent superlatives and words of emotion are, and which pronouns are used' },
  { name: 'grammar', meaning: 'how speech is reported, and how the passive voice and negation are used' },
  { name: 'emotion', meaning: 'words of emotion in text and headline, and how inflammatory the tone is' },
  {
    name: 'information quality',
    meaning: 'signs of clickbait, of overload with information, and of statements out of their context',
  },
];
type Dimension = (typeof linguisticDimensions)[number];

export const prompts = {
  linguist: ({ dimension, news, sides }: { dimension: Dimension; news: readonly string[]; sides: string }) =>
    `You are a linguist who knows how misinformation is written. Examine one dimension only: ${dimension.name} (${dimension.meaning}). \
Judge by the text below and by what you know; do not check its facts. Then say which of the two this dimension points to.
${sides}

${quotedEvidence('The text', news)}`,

  triage: ({ news }: { news: readonly string[] }) =>
    `Which field does this text belong to above all, and which expert of that field should examine it, such as an economist or \
a journalist?

${quotedEvidence('The text', news)}`,

  expert: ({
    expert,
    domain,
    news,
    wikipedia,
    sides,
  }: Record<'expert' | 'domain' | 'sides', string> & Record<'news' | 'wikipedia', readonly string[]>) =>
    `You are an expert: ${expert} (field: ${domain}). Examine the text below along two dimensions.
- Knowledge: do its claims, views and details hold in the light of what you and the reference notes know? Where do they depart \
from common sense?
- Logic: do its arguments lead to its conclusions, by the common sense of your field? Where are errors or leaps?
Then say which of the two it points to.
${sides}

${quotedEvidence('Reference notes', wikipedia)}

${quotedEvidence('The text', news)}`,

  extract: ({ news }: { news: readonly string[] }) =>
    `Take apart what this text claims. Name the core claim, on which the truth of the whole depends, and the claims that support \
it. State each as one short, neutral sentence that can be understood and checked without the text.

${quotedEvidence('The text', news)}`,

  verify: ({ claim, passages }: { claim: string; passages: readonly string[] }) =>
    `Verify one claim strictly by the passages below. Use nothing else, and do not take the lack of a report for a refutation.
Say whether the passages support it, refute it, or do not hold enough information, why in one or two sentences, and quote \
word for word the parts that decide it.

${quotedEvidence('Claim', [claim])}

${quotedEvidence('Passages', passages)}`,

  debater: ({ side, other, pool }: { side: string; other: string; pool: string }) =>
    `You are a debater. You argue that this holds: ${side}
Your opponent argues that this holds: ${other}
Base every argument on what follows, be brief, and never give up your side.

${pool}`,

  opening: 'You speak first. Present your strongest argument.',

  turn: ({ opponent }: { opponent: string }) =>
    `Your opponent argues:
${opponent}

First rebut this argument, then present a new argument of your own.`,

  judge: ({ material, sides }: { material: string; sides: string }) =>
    `You are an impartial judge. Weigh the evidence and the logic of both sides, not their eloquence. Decide for one of the two, \
or say "${insufficient}" if what you have read does not suffice to decide.
${sides}

${material}`,
};
