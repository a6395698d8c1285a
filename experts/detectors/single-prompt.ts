import { z } from 'zod';
import type { Prefix } from '../../src/data/thread.ts';
import { seedSchema } from '../../src/seed.ts';
import type { Detector, Judgement, TranscriptEntry } from '../detector.ts';
import { type AnswerWords, namedAnswers } from '../llm/answers/answer-words.ts';
import { sampledProbabilities } from '../llm/answers/class-probabilities.ts';
import { askVerdict, lastLineAsked, readVerdict, verdictInWords, verdictRequest } from '../llm/answers/verdict.ts';
import { type ChatAnswer, type ChatRequest, whyIncomplete } from '../llm/chat.ts';
import { answerRelevantOptions, type Endpoint } from '../llm/endpoint.ts';
import { quotedPosts } from '../llm/prompt-text.ts';
import { combinedAnswers, type JudgingTask, judgementLabels } from '../tasks/task-file.ts';
import type { DetectorSettings } from './detector-settings.ts';
import { withDrawnComments } from './drawn-comments.ts';
import { checkSamples, endpointOf, endpointsSchema, modelSchema } from './models-by-role.ts';
import { loadPrompts, promptsSchema } from './prompt-templates.ts';
import { countsIn, inSession, type JudgementSession, pretendedReason, transcriptEntry } from './session.ts';

/*
 * The prompt of EARD (§5.1.3): one question about the posts seen so far, to be answered in one word.
 *
 *   M_k  the first k posts, in order of time
 *   ŷ_k  the answer
 *
 * Differences from the paper and its code:
 *   - The question and the answers come from the task, so it is not limited to rumours. With a task of categories, each
 *     category is asked about separately, and their combination is the label.
 *   - So the wording differs. The code's is "Analyze the given sequence of social media posts, determine if it is a rumor. Respond
 *     Yes or No only." A copy of the file of prompts that says so (`prompts`) is their instruction.
 *   - Each post is on one numbered line, marked as evidence; the paper only says that they are an ordered list.
 *   - Endpoints that take JSON schemas are given the answers as an enum. Unless a text is an answer word, or its last line is one,
 *     the model is asked once more, and then there is no judgement. The code searches for substrings: "Maybe" contains a y and
 *     so is a yes there.
 *   - The paper has no probabilities. Here they come from the log-probabilities of the answer's tokens, or else from the
 *     shares of several samples.
 */

export const singlePromptOptionsSchema = z.strictObject({
  name: z.literal('single-prompt').describe('one question about the posts, answered in one word (EARD, §5.1.3)'),
  endpoints: endpointsSchema,
  model: modelSchema,
  prompts: promptsSchema,
  reasons: z.boolean().default(false).describe('think step by step before the answer (chain of thought)'),
  comments: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe('read the first post and at most so many later ones, drawn at random (40 in S2MAD’s Table 1); null: all'),
  seed: seedSchema.default(1).describe('draws the comments'),
  samples: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe(
      'where the endpoint has no log-probabilities, the shares of this many answers are the probabilities; 1: no probabilities then',
    ),
});
export type SinglePromptOptions = z.infer<typeof singlePromptOptionsSchema>;

interface CategoryQuestion {
  /** The category that the question is about; null for a task of labels, which is a single question. */
  readonly category: string | null;
  readonly instruction: string;
  /** The answer words, the positive label's first, as in the question. */
  readonly words: AnswerWords;
}

interface LabelAnswer {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>> | null;
  /** The text before the answer. */
  readonly reason: string;
  /** All answers; the last one was read. */
  readonly answers: readonly ChatAnswer[];
}

export function createSinglePrompt({ options, task, service }: DetectorSettings<SinglePromptOptions>): Detector {
  const { samples, reasons, comments, seed } = options;
  const endpoint = endpointOf({ role: 'judge', model: options.model, endpoints: options.endpoints });
  checkSamples(endpoint, { samples, asker: 'single-prompt' });
  const prompts = loadPrompts({ detector: 'single-prompt', path: options.prompts });
  const instructionOf = (parts: InstructionParts) =>
    reasons ? reasonedInstruction(parts) : prompts.render('instruction', parts);
  const questions = questionsOf(task, instructionOf);
  const contentOf = ({ instruction, words }: CategoryQuestion, prefix: Prefix) => {
    const content = prompts.render('paper', { instruction, posts: quotedPosts('Posts', prefix.posts) });
    return reasons ? `${content}\n\n${lastLineAsked(words)}` : content;
  };

  async function judge(whole: Prefix, session: JudgementSession): Promise<Judgement> {
    const prefix = comments === null ? whole : withDrawnComments(whole, { most: comments, seed });
    const answers = await Promise.all(
      questions.map((question) =>
        answerTo({ content: contentOf(question, prefix), words: question.words, endpoint, options, session }),
      ),
    );
    const { label, probabilities } = combinedAnswers(task, answers);
    const explanation = answers.map(({ reason }) => reason).join('\n');
    const transcript = answers.flatMap((answer, index) =>
      transcriptOf(answer, { role: questions[index].category ?? 'judge', endpoint }),
    );
    return { label, probabilities, explanation: explanation.trim(), transcript, ...countsIn(session) };
  }

  return {
    name: 'single-prompt',
    // 2: endpoints that take JSON schemas are sent the answers as an enum. 3: a reason ends with a line that is the answer alone.
    version: reasons ? '3' : '2',
    options: {
      task,
      promptVersion: prompts.version,
      model: { ...answerRelevantOptions(endpoint), ...whatCounts(options, endpoint) },
      // No longer settings. They stay in the key, so that stored judgements keep theirs.
      prompt: 'paper',
      reading: 'strict',
      samples,
      // Later options are absent by default, so that older stored judgements keep their keys.
      ...(reasons && { reasons }),
      ...(comments !== null && { comments, seed }),
    },
    labels: judgementLabels(task),
    judge: (prefix, context) => inSession({ service, context }, (session) => judge(prefix, session)),
  };
}

/**
 * The endpoint's settings that matter here alone. An answer that was cut off is unreadable, unless it is one of several
 * samples. With `logprobs: on` every judgement has probabilities.
 */
function whatCounts({ samples }: SinglePromptOptions, { maxTokens, logprobs }: Endpoint) {
  return { ...(samples > 1 && { maxTokens }), ...(logprobs === 'on' && { logprobs }) };
}

interface LabelQuestion {
  readonly content: string;
  readonly words: AnswerWords;
  readonly endpoint: Endpoint;
  readonly options: SinglePromptOptions;
  readonly session: JudgementSession;
}

async function answerTo(question: LabelQuestion): Promise<LabelAnswer> {
  const { words, options, session } = question;
  const { samples, reasons } = options;
  const { service } = session;
  const request = requestOf(question);
  const first = await service.chat({ ...request, wantLogprobs: true, mayBeRepaired: true });
  if (first.logprobs === null && samples > 1) {
    const others = await Promise.all(
      Array.from({ length: samples - 1 }, (_, index) => service.chat({ ...request, sampleIndex: index + 1 })),
    );
    const labels = [first, ...others].map((answer) => labelOf(answer, words));
    const probabilities = sampledProbabilities({ labels: Object.keys(words), answers: labels });
    if (probabilities !== null) {
      const most = Math.max(...Object.values(probabilities));
      // Among equally frequent labels, the first answer wins.
      const [label] = labels.flatMap((each) => (each !== null && probabilities[each] === most ? [each] : []));
      session.unreadableParts += labels.filter((each) => each === null).length;
      return { label, probabilities, reason: '', answers: [first] };
    }
  }
  const answer = await askVerdict({ service, request, words, reasons, first });
  if (answer.isDropped) session.unreadableParts++;
  return answer;
}

function requestOf({ content, words, endpoint, options: { reasons } }: LabelQuestion): ChatRequest {
  const [label] = Object.keys(words);
  return {
    endpoint,
    messages: [{ role: 'user', content }],
    dryRunText: reasons ? verdictInWords({ words, label, reason: pretendedReason }) : words[label][0],
    ...verdictRequest({ words, reasons }),
  };
}

function labelOf(answer: ChatAnswer, words: AnswerWords): string | null {
  if (whyIncomplete(answer) !== null) return null;
  const read = readVerdict(answer, words);
  return 'value' in read ? read.value.label : null;
}

interface InstructionParts extends Readonly<Record<string, string>> {
  readonly subject: string;
  readonly question: string;
  readonly answers: string;
}

/** Not part of the prompt file, because an edit of that file would ask everything again. */
const reasonedInstruction = ({ subject, question, answers }: InstructionParts) =>
  `Analyze the given ${subject} and decide: ${question} Think step by step about what speaks for each of ${answers}, then decide.`;

function questionsOf(task: JudgingTask, instructionOf: (parts: InstructionParts) => string): CategoryQuestion[] {
  const { subject, question, labels, categories = [] } = task;
  if (labels) {
    // By convention the last label is the positive one, and people ask "Yes or No" in that order.
    const positiveFirst = labels.toReversed();
    const words = Object.fromEntries(positiveFirst.map((label) => [label.name, label.answers]));
    const instruction = instructionOf({ subject, question, answers: namedAnswers(words) });
    return [{ category: null, instruction, words }];
  }
  return categories.map(({ name, description }) => ({
    category: name,
    instruction: instructionOf({
      subject,
      question: `Does this hold of it: ${description}?`,
      answers: 'Yes or No',
    }),
    words: { yes: ['Yes'], no: ['No'] },
  }));
}

function transcriptOf(
  { answers, label }: LabelAnswer,
  { role, endpoint }: { role: string; endpoint: Endpoint },
): TranscriptEntry[] {
  return answers.flatMap((answer) => [
    ...(answer.thinking === undefined ? [] : [{ role: `${role}, thinking`, text: answer.thinking }]),
    transcriptEntry({
      role,
      text: answer.text,
      vote: answer === answers.at(-1) ? label : null,
      endpoint,
      answers: [answer],
    }),
  ]);
}
