import { describe, expect, it } from 'vitest';
import { metricIntervals } from '../../../src/metrics/metric-intervals.ts';

const share = {
  name: 'share',
  title: 'share',
  of: ({ values, items }: { values: readonly number[]; items: Int32Array }) =>
    items.reduce((sum, item) => sum + values[item], 0) / items.length,
};
const columnsOf = (values: readonly number[]) => ({ values });

describe('metricIntervals', () => {
  it('averages the metric over the seeds, or first minus second', () => {
    const seeds = [{ first: [1, 1, 0, 0] }, { first: [1, 1, 1, 1] }];
    const [alone] = metricIntervals({ seeds, columnsOf, metrics: [share], seed: 1 });
    expect(alone).toMatchObject({ name: 'share', title: 'share', estimate: 0.75 });
    const [same] = metricIntervals({
      seeds: seeds.map(({ first }) => ({ first, second: first })),
      columnsOf,
      metrics: [share],
      seed: 1,
    });
    expect(same).toMatchObject({ estimate: 0, low: 0, high: 0 });
  });

  it('draws whole what is drawn together', () => {
    const seeds = [{ first: [1, 1, 0, 0] }];
    const drawnTogether = () => [
      [0, 2],
      [1, 3],
    ];
    const [interval] = metricIntervals({ seeds, columnsOf, metrics: [share], drawnTogether, seed: 1 });
    expect(interval).toMatchObject({ estimate: 0.5, low: 0.5, high: 0.5 });
  });

  it('leaves out a metric that some seed does not know', () => {
    const unknown = {
      name: 'unknown',
      title: 'unknown',
      of: ({ values }: { values: readonly number[] }) => values[2] ?? null,
    };
    const seeds = [{ first: [1, 0, 1] }, { first: [1, 0] }];
    expect(metricIntervals({ seeds, columnsOf, metrics: [unknown], seed: 1 })).toEqual([]);
    expect(metricIntervals({ seeds, columnsOf, metrics: [unknown, share], seed: 1 })).toHaveLength(1);
  });
});
