import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { likeliest } from '../../src/likeliest.ts';
import { wordsOf } from '../../src/text/word-set.ts';
import type { SelectorConfig } from './config.ts';

/** What the policies read of what a task model said of an item: the text that is embedded as e(explanation) in the state (§4.3). */
export function explanationShown(
  { distribution, explanation }: TaskPrediction,
  { classes, text, config }: { classes: readonly string[]; text: string; config: Pick<SelectorConfig, 'explanation'> },
): string {
  if (config.explanation === 'reason') return explanation;
  const label = classes[likeliest(distribution)];
  if (config.explanation === 'label-and-reason') return `${label}: ${explanation}`;
  return wordsOf(`${text} ${explanation}`)
    .map((word) => `${label}_${word}`)
    .join(' ');
}
