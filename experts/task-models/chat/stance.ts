import { z } from 'zod';
import { quotedEvidence } from '../../llm/prompt-text.ts';
import { type StanceItem, stanceClasses, type TaskModel } from '../task-model.ts';
import type { ChatTask } from './answer.ts';
import { chatOptionsShape } from './options.ts';
import { type ChatSettings, createChatTaskModel } from './task-model.ts';

/*
 * The stance model of JSDRV (§4.1, Appendix A.1), as a language model.
 *
 * Differences from the paper:
 *   - The paper asks about all posts of a thread at once. Here each post is asked about separately, since the selector may
 *     want any post of a claim, and a stance must not depend on which other posts were selected.
 *   - The prompt names the four stances without defining them, as the paper does.
 */

export const chatStanceOptionsSchema = z.strictObject(chatOptionsShape).describe('stances by a language model');
export type ChatStanceOptions = z.infer<typeof chatStanceOptionsSchema>;

const question = ({ claim, post }: StanceItem) =>
  `${quotedEvidence('Claim', [claim])}\n${quotedEvidence('Post', [post])}`;

const stanceTask: ChatTask<StanceItem> = {
  name: 'stance',
  asker: 'jsdrv/stance',
  // 2: an answer that names no class is a failure, and no stance.
  version: '2',
  // 2: texts are fenced as quoted evidence.
  promptVersion: 2,
  classes: stanceClasses,
  field: 'Stance',
  words: {
    support: ['Support', 'Supports', 'Supporting', 'Supportive'],
    deny: ['Deny', 'Denies', 'Denying', 'Denial'],
    query: ['Question', 'Questions', 'Questioning', 'Query', 'Queries', 'Querying'],
    comment: ['Comment', 'Comments', 'Commenting'],
  },
  instruction:
    'There is a claim, and a post from its conversation thread on social media. Decide which stance the post expresses ' +
    'towards the claim, and explain why. The stance is one of: Support, Deny, Question, Comment. ' +
    'Answer in this form: Stance: [stance], Reason: [reason]',
  limits: {},
  question,
  shownQuestion: question,
  subject: question,
  length: () => 2,
};

/** Without `keptParts` every prediction asks again. */
export function createChatStanceModel(settings: ChatSettings<ChatStanceOptions>): TaskModel<StanceItem> {
  return createChatTaskModel({ ...settings, task: stanceTask });
}
