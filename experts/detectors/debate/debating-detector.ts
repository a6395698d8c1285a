import type { Detector, TranscriptEntry } from '../../detector.ts';
import type { ChatService } from '../../llm/chat.ts';
import { quotedPosts } from '../../llm/prompt-text.ts';
import { combinedAnswers, type JudgingTask, judgementLabels } from '../../tasks/task-file.ts';
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
        const posts = quotedPosts('Posts', prefix.posts);
        const about = `This is about the following ${task.subject}. Judge it by its text and its links.\n${posts}`;
        const outcomes = await Promise.all(
          questions.map((question) => debate({ question, session, about, wording: sidesInWords(question) })),
        );
        const answers = outcomes.map(({ verdict, shares = null }) => ({ label: verdict, probabilities: shares }));
        const { label, probabilities } = combinedAnswers(task, answers);
        const [{ explanation, transcript }] = task.labels ? outcomes : [withCategories(questions, outcomes)];
        return { label, probabilities, explanation, transcript, ...countsIn(session) };
      }),
  };
}

/** The debates on the categories as one, under the names of the categories. */
function withCategories(
  questions: readonly DebateQuestion[],
  outcomes: readonly DebateOutcome[],
): Pick<DebateOutcome, 'explanation' | 'transcript'> {
  const named = outcomes.map((outcome, index) => ({ ...outcome, category: questions[index].category ?? '' }));
  return {
    explanation: named.map(({ category, explanation }) => `${category}: ${explanation}`).join('\n'),
    transcript: named.flatMap(({ category, transcript }) =>
      transcript.map((entry) => ({ ...entry, round: `${category}: ${entry.round}` })),
    ),
  };
}
