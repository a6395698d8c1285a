import { type Expression, parsedExpression } from './expression.ts';
import type { SweepPlan } from './plan.ts';

type MetricValues = Readonly<Record<string, number | null>>;

/**
 * The objective of a sweep as a function of a system's metrics; null where it has no finite value: a metric in it is not
 * known (hours of threads without times), or it divides by 0.
 */
export function objectiveOf({ aim }: Pick<SweepPlan, 'aim'>): (values: MetricValues) => number | null {
  const expression = parsedExpression(aim);
  return (values) => {
    const value = evaluated(expression, values);
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  };
}

/** Whether the means of a setting meet every condition of `objective.where`. A metric that is not known meets none. */
export function conditionsOf({ sweep }: Pick<SweepPlan, 'sweep'>): (values: MetricValues) => boolean {
  const conditions = sweep.objective.where.map(parsedExpression);
  return (values) => conditions.every((condition) => evaluated(condition, values) === true);
}

/** Null where a metric that is named is not known. */
function evaluated(expression: Expression, values: MetricValues) {
  const isKnown = expression.names.every((name) => typeof values[name] === 'number');
  return isKnown ? expression.evaluate((name) => values[name]) : null;
}
