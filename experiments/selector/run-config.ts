import { budgetSchema } from '../../experts/llm/budget.ts';
import { retrySchema } from '../../experts/llm/retry.ts';
import type { SelectorExperiment } from './experiment.ts';

/**
 * The experiment as a run keeps it. What calls may cost and how often they are tried change no result, and a run that
 * stopped at the end of a budget is to go on with a larger one.
 */
export function runConfig(experiment: SelectorExperiment): SelectorExperiment {
  return { ...experiment, budget: budgetSchema.parse({}), retry: retrySchema.parse({}) };
}
