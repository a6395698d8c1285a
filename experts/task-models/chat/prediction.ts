import type { Judgement } from '../../detector.ts';
import type { TaskPrediction } from '../task-model.ts';

/**
 * What several answers to one question come to: the log-probabilities of the first that has them, else the shares of the
 * classes with `smoothing` answers added to each. Answers that name no class count for none; where all are such, every
 * class is as likely and nothing is explained. The explanation is the first given for the likeliest class.
 */
export function predictionOf(options: {
  classes: readonly string[];
  answers: readonly Pick<Judgement, 'label' | 'probabilities' | 'explanation'>[];
  smoothing: number;
}): TaskPrediction {
  const { classes, answers, smoothing } = options;
  const readable = answers.filter(({ label }) => label !== null);
  if (readable.length === 0) return uniformPrediction(classes);
  const told = readable.find(({ probabilities }) => probabilities !== null)?.probabilities;
  const countOf = (name: string) => readable.filter(({ label }) => label === name).length;
  const total = readable.length + smoothing * classes.length;
  const distribution = Float64Array.from(classes, (name) => told?.[name] ?? (countOf(name) + smoothing) / total);
  const likeliest = classes[distribution.indexOf(Math.max(...distribution))];
  const explained = readable.find(({ label }) => label === likeliest) ?? readable[0];
  return { distribution, explanation: explained.explanation };
}

export function uniformPrediction(classes: readonly string[]): TaskPrediction {
  return { distribution: new Float64Array(classes.length).fill(1 / classes.length), explanation: '' };
}
