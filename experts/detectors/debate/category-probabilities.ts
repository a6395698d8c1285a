import { categoryCombination, type JudgingTask, judgementLabels } from '../../tasks/task-file.ts';

/**
 * Probabilities of a category task's labels from those of its categories, taken as independent; what the task's
 * implications rule out goes to what they lead to.
 */
export function categoryProbabilities(options: {
  task: JudgingTask;
  /** For each category the probability that it is present. */
  present: Readonly<Record<string, number>>;
}): Record<string, number> {
  const { task, present } = options;
  const names = (task.categories ?? []).map(({ name }) => name);
  const probabilities = Object.fromEntries(judgementLabels(task).map((label) => [label, 0]));
  for (let bits = 0; bits < 2 ** names.length; bits++) {
    const isIn = (index: number) => Boolean((bits >> index) & 1);
    const probability = names.reduce(
      (product, name, index) => product * (isIn(index) ? present[name] : 1 - present[name]),
      1,
    );
    probabilities[
      categoryCombination(
        task,
        names.filter((_, index) => isIn(index)),
      )
    ] += probability;
  }
  return probabilities;
}
