import type { Interval } from '../../../src/metrics/bootstrap.ts';
import { type Chart, category, dots, ink, palette, paper, quantity, silent } from '../page/chart.ts';
import { type Estimate, shown } from '../shown-numbers.ts';

/** A row of a forest plot. */
export interface ForestRow extends Estimate {
  readonly name: string;
  readonly isTrained: boolean;
  /** Facts that stand under its name, one per line. */
  readonly details?: string;
  readonly interval: Interval | null;
}

/** Pixels of a row: the name stands above its bar. */
const step = 34;

/** Characters of a name that fit on a phone. */
const longestName = 46;

/**
 * A number with its interval per system, against a line.
 * @param options.reference where the line stands
 */
export function forestChart(
  rows: readonly ForestRow[],
  options: Omit<Chart, 'spec'> & { reference: number; axis: string; isDifference?: boolean },
): Chart {
  const { reference, axis, isDifference = false, ...chart } = options;
  const values = rows.map(({ name, mean, interval, isTrained, details, deviation = null }) => {
    const number = shown({ mean, deviation, interval }, { isDifference });
    const title = name.length > longestName ? `${name.slice(0, longestName - 1)}…` : name;
    const { low, high } = interval ?? { low: mean, high: mean };
    return {
      name,
      title,
      isTrained,
      reference,
      x: mean,
      low,
      high,
      details: [name, `${axis} ${number}`, details].join('\n').trim(),
    };
  });
  const y = category('name', { title: null, sort: null, axis: null });
  const x = (field: string) =>
    quantity(field, { title: axis, scale: { zero: false, padding: 8 }, axis: { tickCount: 5, grid: false } });
  const colours = { domain: [true, false], range: [palette.vermillion, palette.grey] };
  const color = category('isTrained', { legend: null, scale: colours });
  const names = (outline: object) =>
    silent(
      'text',
      { y, x: { value: 0 }, text: category('title') },
      { align: 'left', dy: -13, fontSize: 12, ...outline },
    );
  const spec = {
    width: 310,
    height: { step },
    data: { values },
    layer: [
      // In pieces beside the bars, so that it crosses no name.
      silent('tick', { y, x: x('reference') }, { color: ink, thickness: 1, size: 16 }),
      silent('rule', { y, x: x('low'), x2: { field: 'high' }, color }, { strokeWidth: 2 }),
      dots({ y, x: x('x'), color }, { size: 55 }),
      names({ stroke: paper, strokeWidth: 4 }),
      names({}),
    ],
  };
  return { ...chart, spec };
}
