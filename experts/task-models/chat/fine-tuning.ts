import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import { InputError } from '../../../src/errors.ts';
import { Random } from '../../../src/tensor/random.ts';
import type { ChatMessage } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { fineTune, writeFineTuningFile } from '../../llm/fine-tuning.ts';
import type { Environment } from '../../llm/secrets.ts';
import type { RetryPolicy } from '../../llm/sending/retry.ts';
import type { ChatOptions } from './options.ts';
import type { ChatTuning, TunedModel, TuningExample } from './tuning.ts';

/** A file for a tuning, written now or earlier. */
export interface WrittenTuningFile {
  readonly path: string;
  readonly purpose: 'pretrain' | 'tune';
  readonly examples: number;
}

export interface FineTuningContext {
  /** Draws the jitter of waiting times; it does not influence any answer. */
  readonly random?: Random;
  readonly retry?: Partial<RetryPolicy>;
  readonly env?: Environment;
  /** Aborting only ends the waiting: the job continues at the endpoint, and the next run finds it. */
  readonly signal?: AbortSignal;
  readonly onFile?: ((file: WrittenTuningFile) => void) | undefined;
  /** Called at each check of a job. */
  readonly onStatus?: ((status: string) => void) | undefined;
}

const tunedSchema = z.strictObject({
  model: z.string(),
  trainedOn: z.array(z.string()),
  /** Hashes of the subjects in the training data, including those of pretraining. */
  subjects: z.array(z.string()),
});
type Tuned = z.infer<typeof tunedSchema>;

const stateSchema = z.strictObject({
  tuning: z.literal('fine-tuning'),
  pretrained: tunedSchema.nullable(),
  tuned: tunedSchema.nullable(),
});

interface FineTuningSettings {
  readonly endpoint: Endpoint;
  /** The task in messages and file names. */
  readonly task: string;
  readonly options: ChatOptions['fineTuning'];
  /** Writes and sends nothing, because the examples of a dry run are invented. */
  readonly isDryRun: boolean;
  readonly context: FineTuningContext;
  readonly conversation: (example: TuningExample['learned']) => readonly ChatMessage[];
}

/**
 * Tunes by writing files of conversations and, optionally, by fine-tuning jobs at the endpoint.
 * @throws InputError without a directory
 */
export function createFineTuning(settings: FineTuningSettings): ChatTuning {
  const { endpoint, task, options } = settings;
  const { directory } = options;
  if (directory === null)
    throw new InputError(
      `the ${task} model is to be fine-tuned, but fineTuning.directory is not set; give it a folder`,
    );
  const endpointOf = endpointsOfModels(endpoint);
  const random = settings.context.random ?? Random.seeded({ seed: 0, purpose: 'fine-tuning jitter' });
  const learn = learning({ ...settings, directory, random, endpointOf });
  let pretrained: Tuned | null = null;
  let tuned: Tuned | null = null;

  return {
    modelFor({ subject }): TunedModel {
      // An item in the tuning data is predicted by the model before the tuning, so that its label is not just repeated.
      const usable = [tuned, pretrained].find((each) => each !== null && !learnedBy(each).has(subject)) ?? null;
      return {
        endpoint: endpointOf(usable?.model ?? endpoint.model),
        examples: [],
        trainedOn: usable?.trainedOn ?? [],
      };
    },
    async pretrain(examples) {
      pretrained = await learn(examples, { from: null, purpose: 'pretrain' });
      tuned = null;
    },
    async tune(examples) {
      const next = await learn(examples, { from: pretrained, purpose: 'tune' });
      tuned = next === pretrained ? null : next;
    },
    state: () => ({ tuning: 'fine-tuning', pretrained, tuned }),
    restore(state) {
      const wrong = 'this is not the state of a chat model with fine-tuning';
      ({ pretrained, tuned } = checked(stateSchema, state, wrong));
    },
  };
}

/** Writes a file of examples and waits for the tuning job. Without a job the model stays. */
function learning(
  of: FineTuningSettings & { directory: string; random: Random; endpointOf: (model: string) => Endpoint },
) {
  const { endpoint, task, options, isDryRun, context, conversation, directory, random, endpointOf } = of;
  const { createJob, epochs, pollMs, examplesAtLeast } = options;
  const { onFile, onStatus, signal, env, retry } = context;
  return async (
    examples: readonly TuningExample[],
    { from, purpose }: { from: Tuned | null; purpose: WrittenTuningFile['purpose'] },
  ): Promise<Tuned | null> => {
    if (examples.length === 0 || isDryRun) return from;
    const conversations = examples.map(({ learned }) => conversation(learned));
    const file = writeFineTuningFile({ directory, name: task, conversations });
    onFile?.({ path: file.path, purpose, examples: examples.length });
    if (!createJob || examples.length < examplesAtLeast) return from;
    const base = endpointOf(from?.model ?? endpoint.model);
    const model = await fineTune({ endpoint: base, file, epochs, pollMs, random, retry, onStatus, signal, env });
    const subjects = new Set([...(from?.subjects ?? []), ...examples.map(({ shown }) => shown.subject)]);
    return { model, trainedOn: [...(from?.trainedOn ?? []), file.hash], subjects: [...subjects] };
  };
}

/** Reuses one object per model, because the service has a client per object. */
function endpointsOfModels(endpoint: Endpoint) {
  const endpoints = new Map<string, Endpoint>([[endpoint.model, endpoint]]);
  return (model: string): Endpoint => {
    const tuned = endpoints.get(model) ?? { ...endpoint, model };
    endpoints.set(model, tuned);
    return tuned;
  };
}

const sets = new WeakMap<Tuned, ReadonlySet<string>>();

function learnedBy(tuned: Tuned): ReadonlySet<string> {
  const subjects = sets.get(tuned) ?? new Set(tuned.subjects);
  sets.set(tuned, subjects);
  return subjects;
}
