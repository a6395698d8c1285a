import { parsedExpression } from './expression.ts';
import type { SweepPlan } from './plan.ts';

type MetricValues = Readonly<Record<string, number | null>>;

/**
 * What the sweep maximises, as a function of a system's metrics.
 * @throws InputError, when it is called, for a metric that does not exist or has no value
 */
export function objectiveOf({ kind, sweep }: Pick<SweepPlan, 'kind' | 'sweep'>): (values: MetricValues) => number {
  const expression = parsedExpression(sweep.objective.maximise ?? kind.objective);
  return (values) => Number(expression.evaluate((name) => values[name] ?? undefined));
}

/** Whether the means of a member meet every condition of `objective.where`. */
export function conditionsOf({ sweep }: Pick<SweepPlan, 'sweep'>): (values: MetricValues) => boolean {
  const conditions = sweep.objective.where.map(parsedExpression);
  return (values) => conditions.every((condition) => condition.evaluate((name) => values[name] ?? undefined) === true);
}
