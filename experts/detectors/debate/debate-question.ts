import type { JudgingTask } from '../../tasks/task-file.ts';

/** One of the answers that a debate can come to, with somebody to argue for it. */
export interface Side {
  /** What votes and verdicts call it. */
  readonly name: string;
  /** What its name means as an answer. */
  readonly meaning: string;
  /** Who argues for it, as the others call them. */
  readonly role: string;
  /** What its debater argues, after "that". */
  readonly position: string;
}

/** What one debate is about. */
export interface DebateQuestion {
  /** Null for the only question of a task of labels. */
  readonly category: string | null;
  readonly question: string;
  /** The first is the proponent's. */
  readonly sides: readonly Side[];
}

/** A task of labels is one question; of categories each is a question of its own, yes or no. */
export function debateQuestions({ subject, question, labels, categories = [] }: JudgingTask): DebateQuestion[] {
  if (labels) {
    // By convention the last label is the positive one, which the proponent argues for.
    const sides = labels.toReversed().map(({ name, description }, index) => ({
      name,
      meaning: description,
      role: index === 0 ? 'proponent' : labels.length === 2 ? 'opponent' : `opponent for ${name}`,
      position: `the answer is "${name}": ${description}`,
    }));
    return [{ category: null, question, sides }];
  }
  return categories.map(({ name, description }) => ({
    category: name,
    question: `Does this hold of the ${subject}: ${description}?`,
    sides: [
      { name: 'yes', meaning: 'it holds', role: 'proponent', position: `it holds that ${description}` },
      { name: 'no', meaning: 'it does not hold', role: 'opponent', position: `it does not hold that ${description}` },
    ],
  }));
}

export function sidesInWords({ question, sides }: DebateQuestion): string {
  return `${question}\n${sides.map(({ name, meaning }) => `- ${name}: ${meaning}`).join('\n')}`;
}
