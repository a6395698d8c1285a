import { z } from 'zod';
import { lastLineAsked } from '../../llm/answers/verdict.ts';
import { promptLine, quotedEvidence } from '../../llm/prompt-text.ts';
import { type StancedPost, stanceClasses, type TaskModel, type VeracityItem, veracityClasses } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import { chatOptionsShape } from './options.ts';
import { type ChatSettings, createChatTaskModel } from './task-model.ts';

/*
 * The rumour verification model of JSDRV (§4.2, Appendix A.2), as a language model.
 *
 * Differences from the paper:
 *   - The likeliest stance of a post precedes it as one word, between its number and a colon; where two are equally likely,
 *     or stances are not known, as in pretraining, there is no such word. So a question changes, and costs a
 *     call, only when a stance changes.
 *   - The reason comes before the veracity (see stance.ts).
 *   - Posts beyond `maxPosts` are left out; the paper's model reads 4096 tokens.
 */

const maxPosts = z.int().positive();

export const chatVeracityOptionsSchema = z
  .strictObject({
    ...chatOptionsShape,
    maxPosts: maxPosts.default(100).describe("how many of a claim's first posts are read"),
    maxExamplePosts: maxPosts.default(10).describe('posts of each claim shown as an example'),
  })
  .describe('veracities by a language model');
export type ChatVeracityOptions = z.infer<typeof chatVeracityOptionsSchema>;

/** The words that the stance model answers with. */
const stanceWords: Record<(typeof stanceClasses)[number], string> = {
  support: 'Support',
  deny: 'Deny',
  query: 'Question',
  comment: 'Comment',
};

function question({ claim, posts }: VeracityItem, most: number): string {
  // The stance precedes the colon, where no post can put one.
  const lines = posts.slice(0, most).map((post, index) => `${index + 1}${stanceOf(post)}: ${post.text}`);
  return `${quotedEvidence('Claim', [claim])}\n${quotedEvidence('Related posts', lines)}`;
}

function stanceOf({ stance }: StancedPost): string {
  if (stance === null) return '';
  const most = Math.max(...stance);
  const likeliest = stanceClasses.filter((_, index) => stance[index] === most);
  return likeliest.length === 1 ? ` (${stanceWords[likeliest[0]]})` : '';
}

function spellings(adjective: string): string[] {
  return ['Rumor', 'Rumour'].flatMap((noun) => [`${adjective} ${noun}`, `${adjective}-${noun}`]);
}

const words = {
  'non-rumor': ['Non-Rumor', 'Non-Rumour', 'Non Rumor', 'Non Rumour', 'Nonrumor', 'Nonrumour'],
  true: [...spellings('True'), 'True'],
  false: [...spellings('False'), 'False'],
  unverified: [...spellings('Unverified'), 'Unverified'],
};

function veracityTask(limits: { maxPosts: number; maxExamplePosts: number }): ChatTask<VeracityItem> {
  return {
    name: 'veracity',
    asker: 'jsdrv/veracity',
    // 4: the veracity comes after the reason, as a field of a JSON schema or a last line that is the veracity alone.
    version: '4',
    promptVersion: 4,
    classes: veracityClasses,
    words,
    instruction:
      'There is a claim with its related posts from social media; where it is known, the stance that a post expresses ' +
      'towards the claim stands after its number, in brackets. Determine the veracity of the claim, and explain your ' +
      `reasoning. ${lastLineAsked(words)}`,
    limits,
    question: (item) => question(item, limits.maxPosts),
    shownQuestion: (item) => question(item, Math.min(limits.maxPosts, limits.maxExamplePosts)),
    subject: ({ claim }) => promptLine(claim),
    length: ({ posts }) => 1 + Math.min(posts.length, limits.maxPosts),
  };
}

/** Without `askOnce` every prediction asks again. */
export function createChatVeracityModel(settings: ChatSettings<ChatVeracityOptions>): TaskModel<VeracityItem> {
  const { maxPosts, maxExamplePosts } = settings.options;
  return createChatTaskModel({ ...settings, task: veracityTask({ maxPosts, maxExamplePosts }) });
}
