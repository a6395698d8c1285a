import { z } from 'zod';
import type { Prefix } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { seedSchema } from '../../src/seed.ts';
import type { Detector, Judgement } from '../detector.ts';
import { type AnswerWords, namedAnswers } from '../llm/answers/answer-words.ts';
import { sampledProbabilities } from '../llm/answers/class-probabilities.ts';
import { publishedReaderVersion, readPublished } from '../llm/answers/published-reading.ts';
import {
  askVerdict,
  lastLineAsked,
  readVerdict,
  verdictInWords,
  verdictProbabilities,
  verdictRequest,
} from '../llm/answers/verdict.ts';
import { type ChatAnswer, type ChatRequest, whyIncomplete } from '../llm/chat.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import { quotedPosts, type TranscriptEntry } from '../llm/prompt-text.ts';
import { combinedCategories, type JudgingTask, judgementLabels } from '../tasks/task-file.ts';
import type { DetectorSettings } from './detector-settings.ts';
import { drawnComments } from './drawn-comments.ts';
import { endpointOf, endpointsSchema, modelSchema } from './models-by-role.ts';
import { loadPrompts, promptsSchema } from './prompt-templates.ts';
import { type InstructionParts, PUBLISHED_VERSION, publishedInstruction, publishedPrompt } from './published-prompt.ts';
import { countsIn, inSession, pretendedReason, type Session } from './session.ts';

/*
 * The prompt of EARD (§5.1.3): one question about the posts seen so far, to be answered in one word.
 *
 *   M_k  the first k posts, in order of time
 *   ŷ_k  the answer
 *
 * Differences from the paper and its code:
 *   - The question and the answers come from the task, so it is not limited to rumours. With a task of categories, each
 *     category is asked about separately, and their combination is the label.
 *   - So the wording differs, of `prompt: published` too: theirs is "Analyze the given sequence of social media posts, determine if
 *     it is a rumor. Respond Yes or No only." A copy of the file of prompts that says so (`prompts`) is their instruction.
 *   - Each post is on one numbered line, marked as evidence; the paper only says that they are an ordered list.
 *   - Endpoints that take JSON schemas are given the answers as an enum. Unless a text is an answer by the grammar and
 *     nothing else, the model is asked once more, and then there is no judgement. `reading: published` is the substring
 *     search of the authors' code, in which "Maybe" contains a y and so is a yes; it sends no schema and asks nobody again.
 *   - The paper has no probabilities. Here they come from the log-probabilities of the answer's tokens, or else from the
 *     shares of several samples.
 *   - `prompt: published` has the form of the prompt in the authors' code: the instruction before and after the posts, post 1 repeated
 *     after the last, and only the end of the posts if they are too long. Here tokens are estimated, and line breaks in
 *     posts become spaces. As published, nothing tells a post from an instruction, so a post may pose as one. The code allows an answer of 3 tokens (gpt-4o-mini: 5); here that is the endpoint's maxTokens.
 */

export const singlePromptOptionsSchema = z.strictObject({
  name: z.literal('single-prompt').describe('one question about the posts, answered in one word (EARD, §5.1.3)'),
  endpoints: endpointsSchema,
  model: modelSchema,
  prompts: promptsSchema,
  prompt: z
    .enum(['paper', 'published'])
    .default('paper')
    .describe(
      "the paper's one line, or the published code's: instruction twice, first post repeated at the end, and (dangerous) nothing that tells posts from instructions",
    ),
  promptTokens: z
    .int()
    .positive()
    .nullable()
    .default(8000)
    .describe(
      'if the posts are longer, the published prompt keeps this many tokens (estimated) of their end; null: all',
    ),
  reading: z
    .enum(['strict', 'published'])
    .default('strict')
    .describe(
      "what counts as an answer: a text that is one and nothing else, or the published code's substring search",
    ),
  reasons: z
    .boolean()
    .default(false)
    .describe('think step by step before the answer (chain of thought); with the paper’s prompt, read strictly'),
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
  /** Null for a task of labels, which is a single question. */
  readonly category: string | null;
  readonly instruction: string;
  /** The positive label comes first: the published code tries it first. */
  readonly words: AnswerWords;
}

interface Answer {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>> | null;
  /** What was said before the answer. */
  readonly reason: string;
  /** All that was said for it; the last one was read. */
  readonly said: readonly ChatAnswer[];
}

export function createSinglePrompt({ options, task, service }: DetectorSettings<SinglePromptOptions>): Detector {
  const { prompt, promptTokens, reading, samples, reasons, comments, seed } = options;
  if (reasons && (prompt !== 'paper' || reading !== 'strict'))
    throw new InputError(
      'single-prompt: `reasons` needs `prompt: paper` and `reading: strict`; set both, or leave it out',
    );
  const endpoint = endpointOf({ role: 'judge', model: options.model, endpoints: options.endpoints });
  if (samples > 1 && endpoint.temperature === 0)
    throw new InputError(
      `single-prompt: ${samples} samples of ${endpoint.name} at temperature 0 are one answer ${samples} times; set a temperature above 0, or samples to 1`,
    );
  const prompts = loadPrompts({ detector: 'single-prompt', path: options.prompts });
  const instructionOf = (parts: InstructionParts) =>
    reasons
      ? reasonedInstruction(parts)
      : prompt === 'paper'
        ? prompts.render('instruction', parts)
        : publishedInstruction(parts);
  const questions = questionsOf(task, instructionOf);

  async function ask(question: CategoryQuestion, prefix: Prefix, session: Session): Promise<Answer> {
    const { instruction, words } = question;
    const content =
      prompt === 'paper'
        ? `${prompts.render('paper', { instruction, posts: quotedPosts('Posts', prefix.posts) })}${reasons ? `\n\n${lastLineAsked(words)}` : ''}`
        : publishedPrompt({ instruction, prefix, promptTokens });
    const form = { words, reasons };
    const request: ChatRequest = {
      endpoint,
      messages: [{ role: 'user', content }],
      dryRunText: reasons
        ? verdictInWords({ words, label: Object.keys(words)[0], reason: pretendedReason })
        : Object.values(words)[0][0],
      ...(reading === 'strict'
        ? verdictRequest(form)
        : { reader: { name: 'published', version: publishedReaderVersion, words } }),
    };
    const { service } = session;
    const first = await service.chat({ ...request, wantLogprobs: true, mayBeRepaired: reading === 'strict' });
    const labelOf = (answer: ChatAnswer) => {
      if (reading === 'published') return readPublished(answer, words);
      if (whyIncomplete(answer) !== null) return null;
      const read = readVerdict(answer, form);
      return 'value' in read ? read.value.label : null;
    };
    if (first.logprobs === null && samples > 1) {
      const others = await Promise.all(
        Array.from({ length: samples - 1 }, (_, index) => service.chat({ ...request, sampleIndex: index + 1 })),
      );
      const labels = [first, ...others].map(labelOf);
      const label = mostFrequent(labels);
      const probabilities = sampledProbabilities({ labels: Object.keys(words), answers: labels });
      if (label !== null) {
        session.unreadableParts += labels.filter((each) => each === null).length;
        return { label, probabilities, reason: '', said: [first] };
      }
    }
    if (reading === 'strict') {
      const { label, probabilities, reason, isDropped, answers } = await askVerdict({
        service,
        request,
        ...form,
        first,
      });
      if (isDropped) session.unreadableParts++;
      return { label, probabilities, reason, said: answers };
    }
    const label = labelOf(first);
    if (label === null)
      throw new MalformedAnswerError(
        `endpoint ${endpoint.name} (model ${endpoint.model}) answered with something other than ${namedAnswers(words)}: ` +
          JSON.stringify(first.text.slice(0, 200)),
        { answers: [first] },
      );
    const verdict = { label, reason: '', at: 0 };
    const { probabilities, isDropped } = verdictProbabilities({ answer: first, verdict, words });
    if (isDropped) session.unreadableParts++;
    return { label, probabilities, reason: '', said: [first] };
  }

  return {
    name: 'single-prompt',
    // 2: endpoints that take JSON schemas are sent the answers as an enum.
    version: '2',
    options: {
      task,
      promptVersion: prompt === 'paper' ? prompts.version : PUBLISHED_VERSION,
      model: answerRelevantOptions(endpoint),
      prompt,
      ...(prompt === 'published' && { promptTokens }),
      reading,
      samples,
      // Later options: where they are not used, what was paid for before is found.
      ...(reasons && { reasons }),
      ...(comments !== null && { comments, seed }),
    },
    labels: judgementLabels(task),
    judge: (whole, context) =>
      inSession({ service, context }, async (session): Promise<Judgement> => {
        const prefix = comments === null ? whole : withDrawnComments(whole, { most: comments, seed });
        const answers = await Promise.all(questions.map((question) => ask(question, prefix, session)));
        const { label, probabilities } = task.labels
          ? answers[0]
          : combinedCategories(
              task,
              answers.map((answer, index) => ({
                category: questions[index].category ?? '',
                applies: answer.label === 'yes',
                probability: answer.probabilities?.yes ?? null,
              })),
            );
        return {
          label,
          probabilities,
          explanation: answers
            .map(({ reason }) => reason)
            .join('\n')
            .trim(),
          transcript: answers.flatMap(({ said }, index) => transcriptOf(questions[index].category ?? 'judge', said)),
          ...countsIn(session),
        };
      }),
  };
}

/** Not in the file of prompts either: an edit of that file would ask anew what was paid for. */
const reasonedInstruction = ({ subject, question, answers }: InstructionParts) =>
  `Analyze the given ${subject} and decide: ${question} Think step by step about what speaks for each of ${answers}, then decide.`;

function withDrawnComments(prefix: Prefix, { most, seed }: { most: number; seed: number }): Prefix {
  const [claim, ...comments] = prefix.posts;
  return {
    ...prefix,
    posts: [
      claim,
      ...drawnComments({ comments, claim: claim.text, most, seed }).toSorted(
        (a, b) => comments.indexOf(a) - comments.indexOf(b),
      ),
    ],
  };
}

function questionsOf(task: JudgingTask, instructionOf: (parts: InstructionParts) => string): CategoryQuestion[] {
  const { subject, question, labels, categories = [] } = task;
  if (labels) {
    // By convention the last label is the positive one, and people ask "Yes or No" in that order.
    const positiveFirst = labels.toReversed();
    const answers = listed(positiveFirst.map((label) => label.answers[0]));
    const words = Object.fromEntries(positiveFirst.map((label) => [label.name, label.answers]));
    return [{ category: null, instruction: instructionOf({ subject, question, answers }), words }];
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

function transcriptOf(role: string, said: readonly ChatAnswer[]): TranscriptEntry[] {
  return said.flatMap(({ text, thinking }) => [
    ...(thinking === undefined ? [] : [{ role: `${role}, thinking`, text: thinking }]),
    { role, text },
  ]);
}

/** The most frequent label; among equally frequent ones, the one said first. */
function mostFrequent(labels: readonly (string | null)[]): string | null {
  const readable = labels.filter((label) => label !== null);
  const countOf = (label: string) => readable.filter((other) => other === label).length;
  return readable.reduce<string | null>(
    (best, label) => (best === null || countOf(label) > countOf(best) ? label : best),
    null,
  );
}

function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
