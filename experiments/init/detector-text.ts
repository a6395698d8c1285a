import { stringify } from 'yaml';

export interface DetectorChoices {
  readonly baseURL: string;
  readonly model: string;
  /** Name of the environment variable that holds the key; null for an endpoint without keys. */
  readonly apiKeyEnv: string | null;
  readonly task: string;
}

export function detectorText({ baseURL, model, apiKeyEnv, task }: DetectorChoices): string {
  return [
    '# Made by `earshot init --detector`: one question over the posts of a thread.',
    '# `earshot options detector` says what else may stand here; debates and others are in experiments/recipes/detectors/.',
    'detector:',
    '  name: single-prompt',
    '  reasons: true # the model gives a reason before its answer; false costs less',
    '  model:',
    `    baseURL: ${scalar(baseURL)}`,
    `    model: ${scalar(model)}`,
    ...(apiKeyEnv === null
      ? []
      : [`    apiKeyEnv: ${scalar(apiKeyEnv)} # the name of the variable that holds the key`]),
    `task: ${scalar(task)}`,
    'budget: { requests: 1000 } # raise it, or set money or tokens; --budget-requests and its like replace it',
    '',
  ].join('\n');
}

function scalar(text: string): string {
  return stringify(text).trimEnd();
}
