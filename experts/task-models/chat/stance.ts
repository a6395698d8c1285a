import { z } from 'zod';
import { lastLineAsked } from '../../llm/answers/verdict.ts';
import { quotedEvidence } from '../../llm/prompt-text.ts';
import { type StanceItem, stanceClasses, type TaskModel } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import { chatOptionsShape } from './options.ts';
import { type ChatSettings, createChatTaskModel } from './task-model.ts';

/*
 * The stance model of JSDRV (§4.1, Appendix A.1), as a language model.
 *
 * Differences from the paper:
 *   - The paper asks about all posts of a thread at once. Here each post is asked about separately, since the selector may
 *     want any post of a claim, and a stance must not depend on which other posts were selected.
 *   - The prompt names the four stances without defining them, as the paper does.
 *   - The reason comes before the stance, and the stance is a field of a JSON schema or a last line; the paper's form is
 *     "Stance: [stance], Reason: [reason]".
 */

export const chatStanceOptionsSchema = z.strictObject(chatOptionsShape).describe('stances by a language model');
export type ChatStanceOptions = z.infer<typeof chatStanceOptionsSchema>;

const question = ({ claim, post }: StanceItem) =>
  `${quotedEvidence('Claim', [claim])}\n${quotedEvidence('Post', [post])}`;

const words = {
  support: ['Support', 'Supports', 'Supporting', 'Supportive'],
  deny: ['Deny', 'Denies', 'Denying', 'Denial'],
  query: ['Question', 'Questions', 'Questioning', 'Query', 'Queries', 'Querying'],
  comment: ['Comment', 'Comments', 'Commenting'],
};

const stanceTask: ChatTask<StanceItem> = {
  name: 'stance',
  asker: 'jsdrv/stance',
  // 4: the stance comes after the reason, as a field of a JSON schema or a last line that is the stance alone.
  version: '4',
  promptVersion: 4,
  classes: stanceClasses,
  words,
  instruction:
    'There is a claim, and a post from its conversation thread on social media. Decide which stance the post expresses ' +
    `towards the claim, and explain why. ${lastLineAsked(words)}`,
  limits: {},
  question,
  shownQuestion: question,
  subject: question,
  length: () => 2,
};

/** Without `askOnce` every prediction asks again. */
export function createChatStanceModel(settings: ChatSettings<ChatStanceOptions>): TaskModel<StanceItem> {
  return createChatTaskModel({ ...settings, task: stanceTask });
}
