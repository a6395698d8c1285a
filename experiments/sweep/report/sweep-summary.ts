import type { ScreenBlock } from '../../report/narrow-table.ts';
import { whyNone } from '../leader.ts';
import type { SystemMean } from '../results.ts';
import { shownInterval } from '../seed-interval.ts';
import { countsOf, type SweepReport } from './sweep-report.ts';

/** Settings on the screen; the report and the table of trials have all of them. */
const settingsShown = 8;

/** Metrics on the screen. */
const metricsShown: ReadonlySet<string> = new Set([
  'macroF1',
  'er',
  'callsPerThread',
  'veracity.macroF1',
  'stance.macroF1',
]);

/**
 * What a sweep came to, on a screen: the best settings on the development part, the leading one on the test beside what a
 * reader would use instead, and whether it is recommended.
 */
export function summarizeSweep({ plan, rows, settings, leader, tested }: SweepReport): ScreenBlock[] {
  const metrics = plan.kind.metrics.filter(({ name }) => metricsShown.has(name));
  const cells = (values: SystemMean['values']) =>
    metrics.map(({ name, decimals }) => values[name]?.mean.toFixed(decimals) ?? '–');
  const ranked = settings
    .flatMap((setting) => (setting.objective === null ? [] : [{ setting, objective: setting.objective }]))
    .sort((a, b) => b.objective.mean - a.objective.mean);
  const titles = metrics.map(({ title }) => title);
  // An aim that is a metric has its column anyway; only there does the screen have room for the interval.
  const isMetric = metricsShown.has(plan.aim);
  const isHighest = leader === null || leader.isToldApart ? '' : `${leader.setting.label} is the highest. `;
  return [
    `${plan.name}: ${rows.length} trials, ${countsOf(rows)}`,
    [
      ['setting, on the development part', ...(isMetric ? [] : ['objective']), ...titles],
      ...ranked
        .slice(0, settingsShown)
        .map(({ setting, objective }) => [
          `${setting === leader?.setting ? '→' : ' '} ${setting.label}`,
          ...(isMetric ? [] : [shownInterval(objective, 3)]),
          ...metrics.map(({ name, decimals }) =>
            name === plan.aim ? shownInterval(objective, 3) : (setting.values[name]?.mean.toFixed(decimals) ?? '–'),
          ),
        ]),
    ],
    ...(ranked.length > settingsShown ? [`… and ${ranked.length - settingsShown} more in the report`] : []),
    ...(leader === null
      ? [`Verdict: nothing can be recommended: ${whyNone(plan, settings)}.`]
      : [
          [
            ['on the test, which chose nothing', ...titles],
            ...besideOnTest(tested).map(({ name, role, values }) => [
              role === 'learnt' ? leader.setting.label : name,
              ...cells(values),
            ]),
          ],
          `Verdict: ${leader.verdict}. ${isHighest}${leader.why.join(' ')}`,
        ]),
  ];
}

/** What is learnt, the best baselines that are as early and call as seldom, and all posts; of selectors all baselines. */
function besideOnTest(tested: readonly SystemMean[]): SystemMean[] {
  const baselines = tested.filter(({ role }) => role === 'baseline');
  const learnt = tested.filter(({ role }) => role === 'learnt');
  const [agent] = learnt;
  const mean = ({ values }: SystemMean, metric: string) => values[metric]?.mean;
  const [er, calls] = [mean(agent, 'er'), mean(agent, 'callsPerThread')];
  if (er === undefined || calls === undefined) return [...learnt, ...baselines];
  const within = (own: SystemMean, metric: string, most: number) => (mean(own, metric) ?? most) <= most + 1e-9;
  const [best] = baselines
    .filter((own) => within(own, 'er', er) && within(own, 'callsPerThread', calls))
    .sort((a, b) => (mean(b, 'macroF1') ?? 0) - (mean(a, 'macroF1') ?? 0));
  return [...learnt, ...(best === undefined ? [] : [best]), ...baselines.filter(({ name }) => name === 'all posts')];
}
