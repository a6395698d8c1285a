import { bootstrapGroups, type Interval } from '../../../src/metrics/bootstrap.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { signed } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { metricsOf, type QueryMetric, type QueryResult, scorerOf } from '../result.ts';
import { chosenCascade, equalCost } from '../trial.ts';

export type Estimate = Interval & { readonly estimate: number };

/** What a system comes to over the seeds, with 95 % intervals over seeds and threads. */
export interface SystemStanding {
  readonly title: string;
  /** By name of the metric. */
  readonly values: Readonly<Record<string, Estimate>>;
  /** The agent's return and macro-F1 minus its own; null of the agent. */
  readonly agentAbove: { readonly return: Estimate; readonly macroF1: Estimate } | null;
}

export interface AgentStanding {
  readonly variant: string;
  readonly trials: readonly QueryResult[];
  readonly metrics: readonly QueryMetric[];
  /** The agent first. */
  readonly systems: readonly SystemStanding[];
  /** How often each of the settings was chosen. */
  readonly chosen: readonly number[];
}

export interface QueryStanding {
  readonly agents: readonly AgentStanding[];
  readonly verdict: string;
}

const resamples = 1000;

export function standingOf(results: readonly VariantResults<QueryResult>[]): QueryStanding {
  const agents = results.map(agentStanding);
  return { agents, verdict: verdictOf(agents) };
}

function agentStanding({ variant, trials }: VariantResults<QueryResult>): AgentStanding {
  const [first] = trials;
  const scorers = trials.map(scorerOf);
  const titles = scorers[0].titles.filter((title) => scorers.every((own) => own.titles.includes(title)));
  const metrics = metricsOf(first);
  const width = metrics.length;
  const aboves = titles.length * width;
  const intervals = bootstrapGroups({
    groups: trials.map(({ systems }) => systems[0].decisions.length),
    seed: 1,
    resamples,
    statistics(group, items) {
      const { titles: own, score } = scorers[group];
      const all = score(items);
      const scores = titles.map((title) => all[own.indexOf(title)]);
      const [agent] = scores;
      return [
        ...scores.flat(),
        ...scores.flatMap((system) => agent.slice(0, 2).map((value, at) => value - system[at])),
      ];
    },
    scoreRange: (statistic) =>
      statistic >= aboves
        ? (statistic - aboves) % 2 === 1
          ? [-1, 1]
          : null
        : metrics[statistic % width].name === 'macroF1'
          ? [0, 1]
          : null,
  });
  return {
    variant,
    trials,
    metrics,
    systems: titles.map((title, place) => ({
      title,
      values: Object.fromEntries(metrics.map(({ name }, metric) => [name, intervals[place * width + metric]])),
      agentAbove:
        place === 0 ? null : { return: intervals[aboves + 2 * place], macroF1: intervals[aboves + 2 * place + 1] },
    })),
    chosen: first.returns.map((_, index) => trials.filter(({ chosen }) => chosen === index + 1).length),
  };
}

/** What is said of the agent with the highest return. */
function verdictOf(agents: readonly AgentStanding[]): string {
  const best = agents.reduce((one, other) =>
    other.systems[0].values.meanReturn.estimate > one.systems[0].values.meanReturn.estimate ? other : one,
  );
  const name = agents.length === 1 ? 'the agent' : `the agent of ${best.variant}`;
  const rule = (title: string) => best.systems.find((system) => system.title === title)?.agentAbove ?? null;
  const cascade = rule(chosenCascade);
  if (cascade === null)
    return `${name} returns ${best.systems[0].values.meanReturn.estimate.toFixed(3)} on the development part; rules stand beside it on the test`;
  const said = [
    inWords(cascade.return, { metric: 'return', other: 'the cascade that the same labelled threads choose' }),
  ];
  const alone = best.systems.slice(1).filter(({ title }) => title !== chosenCascade && title !== equalCost);
  const strongest = alone.reduce((one, other) =>
    other.values.meanReturn.estimate > one.values.meanReturn.estimate ? other : one,
  );
  if (strongest.agentAbove !== null)
    said.push(
      inWords(strongest.agentAbove.return, {
        metric: 'return',
        other: `“${strongest.title}”, the strongest single detector`,
      }),
    );
  const equal = rule(equalCost);
  if (equal !== null) said.push(inWords(equal.macroF1, { metric: 'macro-F1', other: 'rules as early and as cheap' }));
  return `${name} is ${said.join('; ')}`;
}

function inWords({ estimate, low, high }: Estimate, { metric, other }: { metric: string; other: string }): string {
  const place = low > 0 ? 'above' : high < 0 ? 'below' : 'not measurably apart from';
  return `${place} ${other} (${metric} ${signed(estimate, 3)} [${signed(low, 3)}, ${signed(high, 3)}])`;
}

/** Seeds, and how many threads each part has. */
export function factsOf({ trials }: AgentStanding): string {
  const [{ threads, part }] = trials;
  const parts = Object.entries(threads).filter(([, size]) => size > 0);
  const sizes = parts.map(([name, size]) => `${name} ${size}`).join(', ');
  return `Decided: the ${part} part; seeds ${trials.map(({ seed }) => seed).join(', ')}; threads: ${sizes}`;
}

/** Which settings were chosen, and what each returned on the development part: means over seeds. */
export function settingsInWords({ trials, chosen }: AgentStanding): string {
  const all = chosen.map((times, index) => {
    const returned = mean(trials.map(({ returns }) => returns[index]));
    return `settings ${index + 1} ${returned.toFixed(3)}, chosen by ${times} of ${trials.length} seeds`;
  });
  return `Return on the development part: ${all.join('; ')}`;
}
