/** Unreadable answers name no class. Failed questions can never be answered, such as texts that a filter refused. */
type QuestionOutcome = 'answered' | 'unreadable' | 'failed';

/**
 * Counts the questions of a run's task models, by task, each once. Items without an answer get equal probabilities, so
 * users must learn their number.
 */
export class PredictionTally {
  private readonly tasks = new Map<string, Map<string, QuestionOutcome>>();

  /** @param question.key the same for the same question */
  count({ task, key, outcome }: { task: string; key: string; outcome: QuestionOutcome }): void {
    const outcomes = this.tasks.get(task) ?? new Map<string, QuestionOutcome>();
    this.tasks.set(task, outcomes.set(key, outcome));
  }

  of(task: string) {
    const outcomes = [...(this.tasks.get(task)?.values() ?? [])];
    const count = (kind: QuestionOutcome) => outcomes.filter((outcome) => outcome === kind).length;
    return { questions: outcomes.length, unreadable: count('unreadable'), failed: count('failed') };
  }

  /** A sentence per task with questions that have no answer. */
  lines(store: string): string[] {
    return [...this.tasks.keys()].flatMap((task) => {
      const { questions, unreadable, failed } = this.of(task);
      const what = [
        ...(unreadable > 0 ? [`${unreadable} were answered with something that could not be read`] : []),
        ...(failed > 0 ? [`${failed} were not answered`] : []),
      ];
      if (what.length === 0) return [];
      const shown = unreadable > 0 ? `; earshot annotations unreadable ${store} shows the answers` : '';
      return [
        `of ${questions} questions to the ${task} model, ${what.join(' and ')}; their items count as equally likely of every class${shown}`,
      ];
    });
  }
}
