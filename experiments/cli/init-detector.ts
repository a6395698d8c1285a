import { stringify } from 'yaml';
import { usageSummary } from '../../experts/llm/cost/usage.ts';
import { credentialsOf, endpointSchema } from '../../experts/llm/endpoint.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import { parseYaml } from '../../src/yaml.ts';
import { detectorFileOf } from '../config/detector-file.ts';
import { judgeByModels } from '../judging/judge.ts';
import { judgeText } from '../judging/judge-text.ts';
import { judgementOf } from './print-annotated.ts';
import { watched } from './progress.ts';
import type { Ask } from './questions.ts';
import { refuseExisting } from './shared-options.ts';
import { printResult, type Terminal } from './terminal.ts';

interface InitDetectorOptions
  extends Partial<Record<'baseUrl' | 'model' | 'apiKeyEnv' | 'task' | 'name' | 'out', string>> {
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
  refuseExisting({ out, force });
  const text = await detectorText(options);
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

/** The detector file, from the options and from questions for the rest. */
async function detectorText({ ask, task = 'rumor', ...options }: InitDetectorOptions): Promise<string> {
  const baseURL = await ask('Address of the endpoint (OpenAI-compatible)', {
    option: options.baseUrl,
    fallback: 'http://localhost:11434/v1',
    explanation:
      'Where the chat-completions protocol is spoken, usually ending in /v1: http://localhost:11434/v1 for Ollama, http://localhost:8000/v1 for vLLM, https://api.openai.com/v1, https://openrouter.ai/api/v1. docs/reference/endpoints.md has many others.',
    check: (answer) => checkField('baseURL', answer),
  });
  const isHere = /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(baseURL);
  const variable = await ask('Environment variable that holds its key, or none', {
    option: options.apiKeyEnv,
    fallback: isHere ? 'none' : 'OPENAI_API_KEY',
    explanation:
      'The name of a variable, not the key: the file never holds it. Set it in the shell before, as in `export OPENAI_API_KEY=…`. none for a server on this machine.',
    check: (answer) => checkKey(answer, baseURL),
  });
  const model = await ask('Name of the model there', {
    option: options.model,
    fallback: isHere ? 'qwen2.5:7b' : 'gpt-4o-mini',
    explanation: 'As the endpoint calls it; most list theirs at <address>/models.',
    check: (answer) => checkField('model', answer),
  });
  return [
    '# Made by `earshot init --detector`: one question over the posts of a thread.',
    '# `earshot options detector` says what else may stand here; debates and others are in experiments/recipes/detectors/.',
    'detector:',
    '  name: single-prompt',
    '  reasons: true # the model gives a reason before its answer; false costs less',
    '  model:',
    `    baseURL: ${scalar(baseURL)}`,
    `    model: ${scalar(model)}`,
    ...(variable === 'none'
      ? []
      : [`    apiKeyEnv: ${scalar(variable)} # the name of the variable that holds the key`]),
    `task: ${scalar(task)}`,
    'budget: { requests: 1000 } # raise it, or set money or tokens; --budget-requests and its like replace it',
    '',
  ].join('\n');
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

function scalar(text: string): string {
  return stringify(text).trimEnd();
}
