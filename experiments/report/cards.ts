import type { Card } from './report.ts';
import { type Estimate, percent } from './shown-numbers.ts';

type CardFormat = 'percent' | 'one decimal' | 'three decimals';

/** Cards of the metrics that are known: each by its name with its title, its note and how it is written. */
export function cardsOf(
  values: Readonly<Record<string, Estimate | null | undefined>>,
  cards: readonly (readonly [metric: string, title: string, note: string, format: CardFormat])[],
): Card[] {
  return cards.flatMap(([metric, title, note, format]) => {
    const { mean } = values[metric] ?? {};
    if (mean === undefined) return [];
    const value = format === 'percent' ? percent(mean) : mean.toFixed(format === 'one decimal' ? 1 : 3);
    return [{ title, value, note }];
  });
}
