import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { detectorSchema } from '../../experts/detectors/create-detector.ts';
import { budgetSchema } from '../../experts/llm/cost/budget.ts';
import { pricesSchema } from '../../experts/llm/cost/prices.ts';
import { retrySchema } from '../../experts/llm/sending/retry.ts';
import { type JudgingTask, loadJudgingTask, shippedTasks } from '../../experts/tasks/task-file.ts';
import { checkedConfig } from './config-problems.ts';
import { readYamlMap } from './experiment-file.ts';
import { isPlainObject, type PlainObject } from './overrides.ts';

export const maxOutputTokensSchema = z
  .int()
  .min(1)
  .nullable()
  .default(null)
  .describe(
    'most output tokens of a judgement, all its calls together; one that needs more has no answer. Parts that judgements share are then asked for each. null: no limit',
  );

export const detectorFileSchema = z
  .strictObject({
    detector: detectorSchema,
    task: z
      .string()
      .min(1)
      .describe(`what is decided: ${shippedTasks.join(', ')}, or a YAML file, looked for beside this one first`),
    maxOutputTokens: maxOutputTokensSchema,
    budget: budgetSchema.prefault({}),
    retry: retrySchema.prefault({}),
    prices: z
      .record(z.string().min(1), pricesSchema)
      .default({})
      .describe('prices by model, for endpoints that name none; they come before the list that ships with Earshot'),
  })
  .describe('a detector that asks language models');

export interface DetectorFile extends Omit<z.output<typeof detectorFileSchema>, 'task'> {
  /** The file's name without its ending: what tables call the detector. */
  readonly name: string;
  readonly path: string;
  readonly task: JudgingTask;
}

const holds = 'with detector and task, such as those in experiments/recipes/detectors/';

/** @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one. */
export async function loadDetectorFile(path: string): Promise<DetectorFile> {
  return detectorFileOf(await readYamlMap(path, { what: 'detector file', holds }), path);
}

/** Checks the content of a detector file. @param path its place, present or future */
export async function detectorFileOf(yaml: unknown, path: string): Promise<DetectorFile> {
  const input = withFilesBeside(withPrices(isPlainObject(yaml) ? yaml : {}), path);
  const wrong = `${path} is not a valid detector file`;
  const file = checkedConfig({ schema: detectorFileSchema, input, wrong, keys: schemaFor(input) });
  const beside = join(dirname(path), file.task);
  const isShipped = shippedTasks.some((name) => name === file.task);
  const task = await loadJudgingTask(!isShipped && existsSync(beside) ? beside : file.task);
  return { ...file, task, path, name: basename(path).replace(/\.ya?ml$/i, '') };
}

/** Adds the file's prices to endpoints without prices. The schema reports mistakes in them. */
function withPrices(file: PlainObject): PlainObject {
  const { prices } = file;
  if (!isPlainObject(prices)) return file;
  const priced = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(priced);
    if (!isPlainObject(value)) return value;
    const { model } = value;
    if (typeof value.baseURL === 'string' && typeof model === 'string' && Object.hasOwn(prices, model))
      return { prices: prices[model], ...value };
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, priced(each)]));
  };
  return { ...file, detector: priced(file.detector) };
}

/** Resolves the files that it names against its folder. */
function withFilesBeside(file: PlainObject, path: string): PlainObject {
  const beside = (detector: unknown): unknown => {
    if (!isPlainObject(detector)) return detector;
    const named = Object.entries(detector).map(([key, value]) =>
      (key === 'prompts' || key === 'first') && typeof value === 'string'
        ? [key, resolve(dirname(path), value)]
        : [key, key === 'otherwise' ? beside(value) : value],
    );
    return Object.fromEntries(named);
  };
  return { ...file, detector: beside(file.detector) };
}

/** The schema with only the named detector, so that suggestions are keys of that detector. */
function schemaFor(input: PlainObject): z.ZodType {
  const name = isPlainObject(input.detector) ? input.detector.name : undefined;
  const schemaOfName = detectorSchema.options.find((option) => option.shape.name.value === name);
  return schemaOfName === undefined
    ? detectorFileSchema
    : z.strictObject({ ...detectorFileSchema.shape, detector: schemaOfName });
}
