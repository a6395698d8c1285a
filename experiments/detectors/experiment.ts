import { z } from 'zod';
import { detectorSchema } from '../../experts/detectors/create-detector.ts';
import { localDetectorOptionsSchema } from '../../experts/detectors/local/train-local-detector.ts';
import { endpointsSchema } from '../../experts/detectors/models-by-role.ts';
import { budgetSchema } from '../../experts/llm/cost/budget.ts';
import { retrySchema } from '../../experts/llm/sending/retry.ts';
import { shippedTasks } from '../../experts/tasks/task-file.ts';
import { tasks } from '../../src/data/task.ts';
import { seedSchema } from '../../src/seed.ts';
import { experimentResolver } from '../config/config-problems.ts';
import { maxOutputTokensSchema } from '../config/detector-file.ts';
import { experimentName, seedList } from '../config/experiment-file.ts';
import { isDetectorFile } from '../config/is-detector-file.ts';
import { isTaskFile, ownTaskSchema } from '../config/own-task.ts';
import { threadDataSchema } from '../config/thread-data.ts';

const detectors = z
  .discriminatedUnion('name', [
    localDetectorOptionsSchema.extend({
      name: z.literal('local').describe('trained here on the threads of split.train: no network, no key'),
    }),
    z.strictObject({
      name: z.literal('file').describe('the detector in a file'),
      file: z.string().min(1).describe('a detector file (.yaml), or one that was trained and saved (.json)'),
    }),
    ...detectorSchema.options,
  ])
  .describe('the detector that is judged; variants name others, or change options of this one');

export const detectorsExperimentSchema = z
  .strictObject({
    kind: z.literal('detectors'),
    name: experimentName,
    description: z.string().default(''),
    seeds: seedList
      .default([1])
      .describe('seeds, with one run for each: they draw the parts, and train detectors that are trained here'),
    task: z
      .union([
        z
          .string()
          .min(1)
          .refine(isTaskFile, `one of ${shippedTasks.join(', ')}, or a task file (.yaml)`),
        ownTaskSchema,
      ])
      .default('rumor')
      .describe(
        `what is decided: ${shippedTasks.join(', ')}, a task file (.yaml), or a label of your threads by its name`,
      ),
    data: threadDataSchema
      .prefault({})
      .describe('where the items come from; those without a label of the task are left out'),
    split: z
      .strictObject({
        train: z
          .int()
          .min(0)
          .default(0)
          .describe(
            'threads that local detectors learn from; the same for all variants, so that all judge the same items',
          ),
        development: z
          .int()
          .min(0)
          .default(0)
          .describe('threads to choose settings on; their decisions are kept apart'),
        test: z
          .union([z.int().min(1), z.literal('rest')])
          .default('rest')
          .describe('threads to judge, drawn with each label in proportion'),
        testEvents: z
          .array(z.string().min(1))
          .min(1)
          .nullable()
          .default(null)
          .describe('test on all threads of these events instead, and take the other parts from the other events'),
        seed: seedSchema.nullable().default(1).describe('fixes the parts; null draws new ones for each seed'),
      })
      .prefault({})
      .describe('which threads are used for what; no thread is used twice'),
    endpoints: endpointsSchema.describe('endpoints by name, for the models of every variant'),
    detector: detectors.prefault({ name: 'local' }),
    replies: z
      .array(z.union([z.int().min(0), z.literal('all')]))
      .min(1)
      .default(['all'])
      .describe(
        'how many replies are seen, such as [0, 10, all]; 0 is the claim alone, and shorter threads are judged whole',
      ),
    annotations: z
      .string()
      .nullable()
      .default(null)
      .describe('annotation store that judgements are read from and added to; null for the store of the runs'),
    concurrency: z.int().min(1).default(64).describe('judgements of language models under way at the same time'),
    maxUnreadable: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe('stop where more than this share of at least 20 answers cannot be read'),
    retryUnreadable: z.boolean().default(false).describe('ask again where an earlier answer could not be read'),
    failures: z
      .enum(['stop', 'wrong'])
      .default('stop')
      .describe(
        'judgements that failed: stop, and ask again next time, or count them as wrong, as answers are that cannot be read',
      ),
    maxOutputTokens: maxOutputTokensSchema,
    budget: budgetSchema.prefault({}),
    retry: retrySchema.prefault({}),
    evaluation: z
      .strictObject({
        part: z
          .enum(['test', 'development'])
          .default('test')
          .describe('the part that is judged; with development the test is not paid for'),
      })
      .prefault({}),
  })
  .superRefine(({ detector, split, task, evaluation, replies }, context) => {
    const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (detector.name === 'local' && split.train === 0)
      problem(
        ['split', 'train'],
        'a local detector is trained here; give it threads, such as 100, in every variant alike',
      );
    if (detector.name === 'local' && typeof task === 'string' && !Object.hasOwn(tasks, task))
      problem(
        ['task'],
        `a local detector decides ${Object.keys(tasks).join(', ')}, or a label of your threads by its name`,
      );
    if (evaluation.part === 'development' && split.development === 0)
      problem(['evaluation', 'part'], 'there is no development part; set split.development');
    if (new Set(replies).size !== replies.length) problem(['replies'], 'a number of replies stands there twice');
  })
  .describe('detectors judged on the same threads: one question, its items, its detectors');
export type DetectorsExperiment = z.output<typeof detectorsExperimentSchema>;

export const resolveDetectorsExperiment = experimentResolver(detectorsExperimentSchema);

/** Whether language models are behind it, so that it costs money and time. */
export function asksModels({ detector }: DetectorsExperiment): boolean {
  return detector.name !== 'local' && (detector.name !== 'file' || isDetectorFile(detector.file));
}

/** Files that it reads, but for a detector file, of which only a part says how is judged. */
export function filesOf({ data, detector, task }: DetectorsExperiment): string[] {
  const prompts = 'prompts' in detector ? detector.prompts : null;
  const file = detector.name === 'file' && !isDetectorFile(detector.file) ? detector.file : null;
  const taskFile = typeof task !== 'string' || shippedTasks.some((name) => name === task) ? null : task;
  return [data.threads, file, prompts, taskFile].filter((path) => typeof path === 'string');
}
