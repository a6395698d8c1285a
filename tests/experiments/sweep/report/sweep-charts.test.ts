import { expect, it } from 'vitest';
import { draw } from '../../../../experiments/report/page/chart.ts';
import { sweepCharts } from '../../../../experiments/sweep/report/sweep-charts.ts';
import { seedInterval } from '../../../../experiments/sweep/seed-interval.ts';
import { planned } from '../tiny-sweep.ts';

it('fits many drawn settings on a page: one short name for a place, drawn numbers in groups', async () => {
  const space = {
    'agent.imitation.alpha': { from: 0.6, to: 0.9 },
    'agent.imitation.misleading': ['subtract', 'as-agent'],
  };
  const plan = await planned({ space, method: { name: 'random', trials: 40 } });
  const settings = plan.members.map((setting, place) => ({
    ...setting,
    label: `setting ${place}`,
    rows: [],
    isComplete: true,
    isAllowed: true,
    objective: seedInterval([place / 40]),
    values: {},
  }));
  const front = settings.map(({ label }) => ({
    name: label,
    isSwept: true,
    macroF1: 0.7,
    er: 0.1,
    queries: 1,
    isOnFront: true,
  }));
  const drawn = await Promise.all(sweepCharts({ plan, settings, front }).map(draw));
  const pictures = Object.fromEntries(drawn.map(({ name, svg }) => [name, svg]));
  const widthOf = (name: string) => Number(/ width="(\d+)"/.exec(pictures[name])?.[1]);
  expect(pictures.front).toContain('>setting 0 and 39 more<');
  expect(widthOf('front')).toBeLessThan(375);
  expect(widthOf('heat-map')).toBeLessThan(345);
  const columns = [...pictures['heat-map'].matchAll(/>((?:from )?0\.\d+(?: to below 0\.\d+)?)<\/text>/g)];
  const groups = columns.map(([, text]) => text).filter((text) => /from|below/.test(text));
  expect(groups).toHaveLength(4);
  expect(groups[3]).toMatch(/^from /);
});
