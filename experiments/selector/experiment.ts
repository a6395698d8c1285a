import { z } from 'zod';
import { budgetSchema } from '../../experts/llm/cost/budget.ts';
import { retrySchema } from '../../experts/llm/sending/retry.ts';
import { chatStanceOptionsSchema } from '../../experts/task-models/chat/stance.ts';
import { chatVeracityOptionsSchema } from '../../experts/task-models/chat/veracity.ts';
import { localStanceOptionsSchema } from '../../experts/task-models/local/stance.ts';
import { localVeracityOptionsSchema } from '../../experts/task-models/local/veracity.ts';
import { plantedStanceOptionsSchema } from '../../src/data/synthetic/planted-stances.ts';
import { recordOf } from '../../src/record-of.ts';
import { encoderSchema } from '../../src/text/create-encoder.ts';
import { selectorSchema } from '../../trainers/selector/config.ts';
import { experimentResolver } from '../config/config-problems.ts';
import { experimentName, experimentSeeds } from '../config/experiment-file.ts';

const threadFile = z.string().min(1);

const local = {
  name: z.literal('local').describe('an encoder and a small classifier: no network, no key'),
  encoder: encoderSchema.prefault({ name: 'hashing', dimensions: 2048 }).describe('encodes texts for this model'),
};

export const baselines = [
  'untuned',
  'everything',
  'random',
  'random-by-class',
  'right-labels',
  'supervised',
  'majority',
  'nearest-neighbour',
  'tf-idf',
] as const;

export const selectorExperimentSchema = z
  .strictObject({
    kind: z.literal('selector'),
    name: experimentName,
    description: z.string().default(''),
    seeds: experimentSeeds,
    data: z
      .strictObject({
        train: threadFile
          .nullable()
          .default(null)
          .describe('threads with veracity labels, of which the selector sees a share; null for planted threads'),
        tests: recordOf(threadFile)
          .prefault({})
          .describe('threads to test on, by the name that tables use; they are taken out of the training threads'),
        protocol: z
          .enum(['events', 'ids'])
          .default('events')
          .describe(
            'what training and tests may not share: events and nearly identical claims, or only the same threads; with ids, other threads of the tested stories are trained on, and the test measures whether a story is known',
          ),
        heldOutEvents: z
          .union([z.literal('each'), z.array(z.string().min(1))])
          .default([])
          .describe(
            'events that are tested and not trained on, in all files; each: every event of the training threads in turn, and those that only tests have, but no development event',
          ),
        developmentEvents: z
          .array(z.string().min(1))
          .default([])
          .describe(
            'events that settings are chosen by: name them in heldOutEvents, too, and their decisions are kept as held-out ones, which tables leave out',
          ),
        stancePretraining: threadFile
          .nullable()
          .default(null)
          .describe(
            'items with labels.stance (support or favor, deny or against, query, comment) and labels.target, the claim, or threads with stances, that the stance model learns from first',
          ),
        planted: plantedStanceOptionsSchema.prefault({}).describe('the made-up threads, used where no path is given'),
        maxPosts: z.int().min(1).default(500).describe('posts of a thread that the selector reads, the claim included'),
        skipInvalid: z.boolean().default(false).describe('leave invalid lines out instead of stopping'),
      })
      .prefault({})
      .describe('where the threads come from'),
    seedShare: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe('share of the labelled claims of each class whose label the selector sees'),
    encoder: encoderSchema
      .prefault({ name: 'hashing' })
      .describe('embeds claims, posts and explanations for the policies'),
    stanceModel: z
      .discriminatedUnion('name', [localStanceOptionsSchema.extend(local), chatStanceOptionsSchema])
      .prefault({ name: 'local' })
      .describe('predicts stances: the SD network of JSDRV'),
    veracityModel: z
      .discriminatedUnion('name', [localVeracityOptionsSchema.extend(local), chatVeracityOptionsSchema])
      .prefault({ name: 'local' })
      .describe('predicts veracities: the RV network of JSDRV'),
    selector: selectorSchema.prefault({}),
    budget: budgetSchema
      .prefault({})
      .describe(
        'limits on all calls to language models of the experiment: every run, resume and process counts, failed requests included',
      ),
    retry: retrySchema.prefault({}),
    evaluation: z
      .strictObject({
        beside: z
          .array(z.enum(baselines))
          .default(baselines.filter((name) => name !== 'right-labels'))
          .describe(
            'also tested: the task models untuned; tuned on all weak labels; on a random selection of the same size; on one with the same shares of every weak label, among labelled and unlabelled claims; on the weak labels that are right, or cannot be checked; on human labels; the most common class; the most similar claim or reply; a logistic regression on TF-IDF',
          ),
        room: z
          .boolean()
          .default(true)
          .describe(
            'measure first what correct weak labels would gain over random ones, on training threads held out in turn, with labels that the selector does not see; local task models only',
          ),
        heldOutShare: z
          .number()
          .min(0)
          .max(0.9)
          .default(0.2)
          .describe(
            'share of each test set held out for choosing: settings, and whether tuned or untuned models are kept; models tuned on human labels learn its stances. The tables leave it out. Not used with heldOutEvents',
          ),
      })
      .prefault({}),
  })
  .superRefine(({ data: { train, tests, heldOutEvents, protocol } }, context) => {
    const problem = (key: string, message: string) =>
      context.addIssue({ code: 'custom', path: ['data', key], message });
    if (train === null && Object.keys(tests).length > 0)
      problem('tests', 'given without data.train; name the threads to train on, too, or neither for planted ones');
    if (protocol === 'ids' && heldOutEvents.length > 0)
      problem('heldOutEvents', 'this needs data.protocol: events, and it is ids; remove one of them');
  })
  .describe('a selector: its data, its task models, its policies, its seeds');
export type SelectorExperiment = z.output<typeof selectorExperimentSchema>;

export const resolveSelectorExperiment = experimentResolver(selectorExperimentSchema);

/** The stored experiment, without budget and retries. They change no result, and a run may resume with a larger budget. */
export function runConfig(experiment: SelectorExperiment): SelectorExperiment {
  return { ...experiment, budget: budgetSchema.parse({}), retry: retrySchema.parse({}) };
}
