import type { Prefix } from '../../../src/data/thread.ts';
import type { Detector, Judgement, TranscriptEntry } from '../../detector.ts';
import type { ChatService } from '../../llm/chat.ts';
import { quotedPosts } from '../../llm/prompt-text.ts';
import { combinedCategories, type JudgingTask, judgementLabels } from '../../tasks/task-file.ts';
import { countsIn, inSession, type JudgementSession } from '../session.ts';
import { type DebateQuestion, type DebateVerdict, debateQuestions, sidesInWords } from './debate-question.ts';

/** The setting that all participants of a debate share. */
export interface DebateSetting {
  readonly question: DebateQuestion;
  readonly session: JudgementSession;
  /** The posts, which begin every prompt. A longer prefix only appends to them, so that prompt caches work. */
  readonly about: string;
  readonly wording: string;
}

export interface DebateOutcome extends DebateVerdict {
  /** Each side's share of the votes, if there were votes. */
  readonly shares?: Readonly<Record<string, number>>;
  readonly transcript: readonly TranscriptEntry[];
}

/** Holds the debates of a task at the same time, one per question, and combines their verdicts. */
export function debatingDetector(settings: {
  name: string;
  version: string;
  /** Everything except the task that can change a judgement. */
  options: Readonly<Record<string, unknown>>;
  task: JudgingTask;
  service: ChatService;
  debate: (debate: DebateSetting) => Promise<DebateOutcome>;
}): Detector {
  const { name, version, options, task, service, debate } = settings;
  const questions = debateQuestions(task);
  return {
    name,
    version,
    options: { task, ...options },
    labels: judgementLabels(task),
    judge: (prefix, context) =>
      inSession({ service, context }, async (session) => {
        const about = caseOf({ task, prefix });
        const outcomes = await Promise.all(
          questions.map((question) => debate({ question, session, about, wording: sidesInWords(question) })),
        );
        if (task.labels) {
          const { verdict, explanation, shares = null, transcript } = outcomes[0];
          return { label: verdict, probabilities: shares, explanation, transcript, ...countsIn(session) };
        }
        return { ...combineVerdicts({ task, questions, outcomes }), ...countsIn(session) };
      }),
  };
}

function caseOf({ task, prefix }: { task: JudgingTask; prefix: Prefix }): string {
  return `This is about the following ${task.subject}. Judge it by its text and its links.
${quotedPosts('Posts', prefix.posts)}`;
}

/** Combines the verdicts on the categories. */
function combineVerdicts(options: {
  task: JudgingTask;
  questions: readonly DebateQuestion[];
  outcomes: readonly DebateOutcome[];
}): Omit<Judgement, 'usage' | 'unreadableParts'> {
  const { task, questions, outcomes } = options;
  const named = outcomes.map((outcome, index) => ({ ...outcome, category: questions[index].category ?? '' }));
  return {
    ...combinedCategories(
      task,
      named.map(({ category, verdict, shares }) => ({
        category,
        applies: verdict === 'yes',
        probability: shares?.yes ?? null,
      })),
    ),
    explanation: named.map(({ category, explanation }) => `${category}: ${explanation}`).join('\n'),
    transcript: named.flatMap(({ category, transcript }) =>
      transcript.map((entry) => ({ ...entry, round: `${category}: ${entry.round}` })),
    ),
  };
}
