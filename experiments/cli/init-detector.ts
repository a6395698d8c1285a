import { existsSync } from 'node:fs';
import { stringify } from 'yaml';
import { usageSummary } from '../../experts/llm/cost/usage.ts';
import { credentialsOf, endpointSchema } from '../../experts/llm/endpoint.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import { parseYaml } from '../../src/yaml.ts';
import { detectorFileOf } from '../config/detector-file.ts';
import { explanations } from '../init/explanations.ts';
import { judgeByModels } from '../judging/judge.ts';
import { judgeText } from '../judging/judge-text.ts';
import { judgementOf } from './print-annotated.ts';
import { watched } from './progress.ts';
import type { questions } from './questions.ts';
import { printResult, type Terminal } from './terminal.ts';

type Ask = ReturnType<typeof questions>;

export interface InitDetectorOptions {
  baseUrl?: string;
  model?: string;
  apiKeyEnv?: string;
  task?: string;
  name?: string;
  out?: string;
  force?: boolean;
  /** The threads for the next command. */
  threads?: string;
  /** Whether one call is made before the file is written. */
  test: boolean;
  json?: boolean;
  ask: Ask;
  terminal: Terminal;
}

const sample = 'BREAKING: the bridge over the river has collapsed, they say. Spread the word!';

/**
 * Asks for an endpoint, tests it with one judgement, and writes the detector file.
 * @throws InputError for an invalid answer, ProviderError if the call fails; no file is written then
 */
export async function initDetector(options: InitDetectorOptions): Promise<void> {
  const { name = 'detector', out = `${name}.yaml`, force = false, threads = 'threads.jsonl' } = options;
  const { test, json, terminal } = options;
  if (existsSync(out) && !force)
    throw new InputError(`${out} exists already; give another --out, or --force to write over it`);
  const text = detectorText(await choicesFrom(options));
  const file = await detectorFileOf(parseYaml(text, 'the detector file is'), out);
  // Somebody waits for it.
  const judge = judgeByModels({ ...file, retry: { ...file.retry, maxAttempts: 2 } });
  const judged = test
    ? await watched('one call', terminal, (context) => judgeText({ judge, text: sample, context }))
    : null;
  const consequence = ', so nothing was written; --no-test writes the file';
  const judgement = judged && judgementOf(judged, { terminal, consequence });
  writeFileAtomically(out, text);
  const usage = judged?.usage ?? [];
  const said =
    judgement === null
      ? ''
      : `Asked about ${JSON.stringify(sample)}, it said ${judgement.label}${judgement.explanation === '' ? '' : `: ${judgement.explanation}`}\n${usageSummary(usage)}\n`;
  printResult(terminal, {
    json,
    value: { file: out, judgement, sent: usage },
    text:
      `${said}Wrote ${out}.\n` +
      `Next: echo "…" | npx earshot annotate - --detector ${quoted(out)}\n` +
      `      npx earshot annotate ${quoted(threads)} --store judged.sqlite --detector ${quoted(out)} --dry-run  # what it would cost\n`,
  });
}

async function choicesFrom({ baseUrl, model, apiKeyEnv, task, ask }: InitDetectorOptions): Promise<DetectorChoices> {
  const baseURL = await answered(baseUrl, {
    question: 'Address of the endpoint (OpenAI-compatible)',
    fallback: 'http://localhost:11434/v1',
    explanation: explanations.baseURL,
    check: (answer) => checkField('baseURL', answer),
    ask,
  });
  const isHere = /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(baseURL);
  const variable = await answered(apiKeyEnv, {
    question: 'Environment variable that holds its key, or none',
    fallback: isHere ? 'none' : 'OPENAI_API_KEY',
    explanation: explanations.apiKeyEnv,
    check: (answer) => checkKey(answer, baseURL),
    ask,
  });
  const chosen = await answered(model, {
    question: 'Name of the model there',
    fallback: isHere ? 'qwen2.5:7b' : 'gpt-4o-mini',
    explanation: explanations.model,
    check: (answer) => checkField('model', answer),
    ask,
  });
  return { baseURL, model: chosen, apiKeyEnv: variable === 'none' ? null : variable, task: task ?? 'rumor' };
}

async function answered(
  option: string | undefined,
  to: { question: string; fallback: string; explanation: string; check: (answer: string) => void; ask: Ask },
): Promise<string> {
  const { question, ask, check, ...prompt } = to;
  const answer = option ?? (await ask(question, { ...prompt, check: async (said) => check(said) }));
  check(answer);
  return answer;
}

function checkField(field: 'baseURL' | 'model' | 'apiKeyEnv', value: string): void {
  const { error } = endpointSchema.shape[field].safeParse(value);
  if (error) throw new InputError(`${JSON.stringify(value)} cannot be the ${field}: it ${error.issues[0].message}`);
}

function checkKey(variable: string, baseURL: string): void {
  if (variable === 'none') return;
  checkField('apiKeyEnv', variable);
  const endpoint = endpointSchema.parse({ name: new URL(baseURL).host, baseURL, model: 'any', apiKeyEnv: variable });
  credentialsOf({ endpoint, env: process.env });
}

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
