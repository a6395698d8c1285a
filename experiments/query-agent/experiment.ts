import { z } from 'zod';
import { scheduledLengths } from '../../experts/prefix-schedule.ts';
import { seedSchema } from '../../src/seed.ts';
import { queryAgentSchema } from '../../trainers/query-agent/config.ts';
import { experimentResolver } from '../config/config-problems.ts';
import { seedList } from '../config/experiment-file.ts';
import { asksModels, type DetectorsExperiment, detectorsExperimentSchema, filesOf } from '../detectors/experiment.ts';

// What is asked, of which threads and through which endpoints, is told as in an experiment on detectors.
const { detector, replies, split, evaluation, kind: _, ...shared } = detectorsExperimentSchema.shape;
const price = z.number().min(0).default(0);

const askedSchema = z
  .strictObject({
    detector: detector.unwrap().prefault({ name: 'local' }).describe('as in an experiment on detectors'),
    replies: replies
      .unwrap()
      .default([0, 1, 3, 7, 15, 31, 63])
      .describe('after how many replies it may be asked; a shorter thread is judged whole'),
    price: z
      .strictObject({
        judgement: price.describe('of each judgement'),
        post: price.describe('of each post that it reads'),
        money: price.describe('of a unit of money, by what the judgement’s tokens cost'),
        second: price.describe('of a second from the question to the judgement, when it was made'),
      })
      .prefault({})
      .describe('what asking costs, in units of the return: the sum of these'),
  })
  .describe('a detector that the agent may ask, and at what price');
export type AskedDetector = z.output<typeof askedSchema>;

const part = split.unwrap().shape;
const settingsSchema = queryAgentSchema.omit({ delayCost: true });

export const queryExperimentSchema = z
  .strictObject({
    kind: z.literal('several-detectors'),
    ...shared,
    seeds: seedList.default([1, 2, 3, 4, 5]).describe('seeds, with one run for each: they draw parts and weights'),
    split: z
      .strictObject({
        train: part.train.default(100).describe('threads that local detectors learn from'),
        labelled: z.int().min(1).default(100).describe('labelled threads that the agent learns from'),
        unlabelled: z
          .int()
          .min(0)
          .default(0)
          .describe('further ones, whose label is what the first detector says after the most replies'),
        development: z
          .int()
          .min(1)
          .default(50)
          .describe('labelled threads that the agent’s settings are chosen on; then it learns from them, too'),
        test: part.test,
        seed: seedSchema.nullable().default(null).describe('fixes the parts; null draws new ones for each seed'),
      })
      .prefault({})
      .describe('which threads are used for what; no thread is used twice'),
    detectors: z
      .record(z.string().regex(/^[\w-]+$/, 'letters, digits, dashes and underscores only'), askedSchema)
      .describe('the detectors by name'),
    delayCost: queryAgentSchema.shape.delayCost,
    settings: z
      .array(settingsSchema)
      .min(1)
      .default(
        [{}, { target: 'probability' }, { target: 'probability', hidden: 8, iterations: 200, learningRate: 0.02 }].map(
          (own) => settingsSchema.parse(own),
        ),
      )
      .describe('settings of the agent: those with the most return on the development part are tested'),
    evaluation,
  })
  .superRefine(({ detectors, split: { train } }, context) => {
    const names = Object.keys(detectors);
    const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (names.length < 2) problem(['detectors'], `names ${names.length}; an agent that chooses needs at least two`);
    if (train === 0 && Object.values(detectors).some((own) => own.detector.name === 'local'))
      problem(['split', 'train'], 'a local detector is trained here; give it threads, such as 100');
  })
  .describe('an agent that reads, asks one of several detectors of different price, or answers');
export type QueryExperiment = z.output<typeof queryExperimentSchema>;

export const resolveQueryExperiment = experimentResolver(queryExperimentSchema);

/** The experiment on one of its detectors alone. */
export function experimentOn(experiment: QueryExperiment, name: string): DetectorsExperiment {
  const { detectors, delayCost: _delay, settings: _settings, split: parts, ...rest } = experiment;
  const { labelled: _labelled, unlabelled: _unlabelled, ...own } = parts;
  const { detector: asked, replies: after } = detectors[name];
  return { ...rest, kind: 'detectors', split: { ...own, testEvents: null }, detector: asked, replies: after };
}

/** Every number of posts at which some detector may be asked, increasing; Infinity for all of them. */
export function lengthsOf({ detectors }: QueryExperiment): number[] {
  const lengths = Object.values(detectors).flatMap((own) =>
    own.replies.map((seen) => (seen === 'all' ? Number.POSITIVE_INFINITY : seen + 1)),
  );
  return scheduledLengths({ schedule: { name: 'lengths', lengths }, posts: Number.POSITIVE_INFINITY });
}

export function asksPaidDetectors({ detectors }: QueryExperiment): boolean {
  return Object.values(detectors).some((own) => asksModels(own.detector));
}

/** Files that it reads. */
export function filesOfQueryExperiment(experiment: QueryExperiment): string[] {
  return [...new Set(Object.keys(experiment.detectors).flatMap((name) => filesOf(experimentOn(experiment, name))))];
}
