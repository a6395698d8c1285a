import { z } from 'zod';
import { localDetectorOptionsSchema } from '../../experts/detectors/local/train-local-detector.ts';
import { prefixScheduleSchema, queriedLengths, scheduledLengths } from '../../experts/prefix-schedule.ts';
import { identityOf, type Task, tasks } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import { seedSchema } from '../../src/seed.ts';
import { backendSchema } from '../../src/tensor/backend.ts';
import { encoderSchema } from '../../src/text/create-encoder.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { experimentResolver } from '../config/config-problems.ts';
import { experimentName, experimentSeeds } from '../config/experiment-file.ts';
import { isPlainObject, type PlainObject } from '../config/overrides.ts';
import { taskNamed, taskSchema } from '../config/own-task.ts';
import { threadDataSchema } from '../config/thread-data.ts';
import { costsSchema, unknownLabels } from './costs.ts';
import { stateSchema } from './state-options.ts';

const splitSchema = z
  .strictObject({
    detector: z
      .union([z.int().min(4), z.strictObject({ events: z.array(z.string()).min(1) })])
      .default(100)
      .describe(
        'labelled threads that train the local detector: how many, or all of these events; none are taken for a detector file',
      ),
    events: z
      .array(z.string())
      .nullable()
      .default(null)
      .describe('take all parts but the detector’s from these events only'),
    demonstrations: z.int().min(1).default(50).describe('labelled threads that the experts demonstrate on'),
    environment: z.int().min(0).default(100).describe('unlabelled threads that the agent trains on'),
    development: z
      .int()
      .min(0)
      .default(0)
      .describe(
        'labelled threads to choose settings on: decisions on them are kept apart; with evaluation.part: development the test is not read',
      ),
    calibration: z
      .int()
      .min(0)
      .default(0)
      .describe(
        'threads on which a training finds the threshold that keeps `guarantee`; they need no labels, and unlabelled ones are taken first',
      ),
    test: z
      .union([z.int().min(1), z.literal('rest')])
      .default('rest')
      .describe('threads to test on'),
    stratify: z
      .boolean()
      .default(true)
      .describe('give each part the shares of the labels; false draws at random, as EARD does'),
    seed: seedSchema
      .nullable()
      .default(null)
      .describe('fixes the split; null draws a new one for each seed, as EARD does'),
  })
  .describe('which threads are used for what; no thread is used twice');

const crossFittingSchema = z
  .strictObject({
    folds: z
      .int()
      .min(2)
      .max(50)
      .default(5)
      .describe(
        'folds: each is judged and tested by a detector, an agent and a threshold that learned from the others',
      ),
    order: z
      .enum(['random', 'by-time'])
      .default('random')
      .describe(
        'by-time: folds are blocks of time, and each is tested by what learned from earlier ones. Random folds are optimistic where threads change over time',
      ),
    environment: z
      .int()
      .min(0)
      .default(100)
      .describe('most unlabelled threads that the agent learns from, up to a third of them'),
    calibration: z
      .int()
      .min(0)
      .default(2000)
      .describe('most unlabelled threads that calibrate the guarantee; nothing learns from them'),
    learningCurve: z
      .boolean()
      .default(true)
      .describe('tests a quarter and a half of the labels, too, and shows what more labels bring'),
  })
  .describe(
    'the protocol for a detector that learns from your labels: every labelled thread is tested once, and the shipped policy learns from all of them. null: the parts of `split`',
  );
export type CrossFitting = z.infer<typeof crossFittingSchema>;

/** A detector that asks language models, in place of the local one. */
const modelDetectorSchema = z
  .strictObject({
    file: z.string().min(1).describe('a detector file, such as experiments/recipes/detectors/s2mad.yaml'),
    annotations: z
      .string()
      .nullable()
      .default(null)
      .describe('annotation store that its judgements are read from and added to; null for the store of the runs'),
    schedule: prefixScheduleSchema,
    concurrency: z.int().min(1).default(64).describe('judgements under way at the same time'),
    failures: z
      .enum(['stop', 'neither-label'])
      .default('stop')
      .describe('prefixes that could not be judged: stop and query again next time, or go on without a label for them'),
  })
  .describe('a detector that asks language models');
export type ModelDetectorOptions = z.infer<typeof modelDetectorSchema>;

export const experimentSchema = z
  .strictObject({
    name: experimentName,
    description: z.string().default(''),
    backend: backendSchema,
    seeds: experimentSeeds,
    task: taskSchema
      .default('rumor')
      .describe(
        'what is decided: a label of your threads by its name, a task file (.yaml), or a known task: rumor (rumor: true or false), veracity (non-rumor, true, false, unverified), rumor-veracity (true, false, unverified; other threads have no label)',
      ),
    alerts: z
      .array(z.string())
      .default([])
      .describe(
        'labels that may be predicted early: policies and rules stop early with these alone and read on with others; empty: any label',
      ),
    data: threadDataSchema.prefault({}),
    crossFitting: crossFittingSchema.nullable().default(null),
    split: splitSchema.prefault({}),
    encoder: encoderSchema.prefault({ name: 'hashing' }).describe('embeds the posts that the agent sees'),
    detector: z
      .union([localDetectorOptionsSchema, modelDetectorSchema])
      .prefault({})
      .describe('the detector that judges: a local one, trained on its part of the split, or one in a file'),
    maxJudgedPosts: z.int().min(1).default(500).describe('posts of a thread that the detector reads'),
    state: stateSchema.prefault({}),
    deadline: z
      .strictObject({
        posts: z.int().min(1).nullable().default(null).describe('posts after which a thread is decided at the latest'),
        hours: z
          .number()
          .positive()
          .nullable()
          .default(null)
          .describe('hours after the claim; a post without a time counts as later'),
      })
      .prefault({})
      .describe(
        'when a thread is decided at the latest, by the agent and by every rule but "all posts"; null for no limit',
      ),
    costs: costsSchema
      .nullable()
      .default(null)
      .describe('what mistakes, waiting and queries cost you; null compares by macro-F1, earliness and queries'),
    guarantee: z
      .strictObject({
        level: z
          .number()
          .gt(0)
          .lt(1)
          .default(0.05)
          .describe(
            'risk level: largest share of predictions that may change, or of early alerts that may be withdrawn',
          ),
        confidence: z.number().gt(0).lt(1).default(0.9).describe('1 − δ, over the choice of the calibration set'),
        loss: z
          .enum(['disagreement', 'withdrawn'])
          .default('disagreement')
          .describe(
            'disagreement: a prediction that changes after the stop; withdrawn, the default where there are alerts: of the alerts before the end of a thread, one that the prediction after all posts would not raise',
          ),
        method: z
          .enum(['auto', 'learn-then-test', 'cross-validation'])
          .default('auto')
          .describe(
            'learn-then-test: on calibration threads, with the confidence; cross-validation: on the labelled threads by conformal risk control, on average over data sets; auto: the first where there are 100 calibration threads. Without crossFitting always the first',
          ),
      })
      .nullable()
      .prefault({})
      .describe(
        'how many predictions may differ from those after all posts, or with alerts how many of these may be withdrawn. null with crossFitting: the threshold that is worth most on the labelled threads. Without crossFitting it needs split.calibration',
      ),
    agent: stopAgentSchema.prefault({}),
    checkpointEvery: z.int().min(1).default(100).describe('iterations between checkpoints'),
    evaluation: z
      .strictObject({
        firstPosts: z
          .array(z.int().min(1))
          .default(Array.from({ length: 50 }, (_, index) => index + 1))
          .describe('rules: stop after so many posts'),
        hours: z
          .array(z.number().positive())
          .default([0.5, 1, 6, 12, 24, 36])
          .describe('rules: stop after so many hours'),
        confidences: z
          .array(z.number().min(0).max(1))
          .default([0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99])
          .describe('rules: stop once the detector is so confident'),
        schedules: z
          .array(prefixScheduleSchema.unwrap())
          .default([
            { name: 'every' },
            { name: 'geometric', start: 1, factor: 1.5 },
            { name: 'geometric', start: 1, factor: 2 },
          ])
          .describe('when confidence rules query the detector; they also query when the agent does'),
        part: z
          .enum(['test', 'development'])
          .default('test')
          .describe('the part of the split that is decided; choose settings on the development part'),
        resamples: z.int().min(1).default(1000).describe('samples of the bootstrap behind the intervals'),
      })
      .prefault({}),
  })
  .superRefine((experiment, context) => {
    const { state, crossFitting, split, evaluation, detector, maxJudgedPosts, costs, task, alerts, guarantee } =
      experiment;
    const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (crossFitting !== null && 'file' in detector)
      problem(
        ['crossFitting'],
        'a detector file learns from no labels; leave crossFitting out, and name parts in split',
      );
    if (crossFitting !== null && evaluation.part === 'development')
      problem(['evaluation', 'part'], 'cross-fitting has no development part; name one in split, or leave this out');
    if (state.posts === 'none' && !state.student && !state.observesDetector)
      problem(['state'], 'the agent would see nothing: give it posts, a student or its detector’s judgements');
    if (!state.observesDetector && (state.actsAt !== 'every-post' || state.querySchedule.name !== 'every'))
      problem(
        ['state', 'observesDetector'],
        'querySchedule and actsAt are about the detector’s judgements; set observesDetector: true',
      );
    if (crossFitting === null && split.calibration > 0 && guarantee === null)
      problem(['guarantee'], 'split.calibration is for a guarantee; leave one of the two out');
    const smallest = guarantee === null ? 0 : smallestCalibration(guarantee);
    if (crossFitting === null && split.calibration > 0 && split.calibration < smallest)
      problem(
        ['split', 'calibration'],
        `the guarantee takes at least ${smallest} threads, even where no prediction changes; give more, or a larger guarantee.level`,
      );
    if (evaluation.part === 'development' && split.development === 0)
      problem(['evaluation', 'part'], 'the split has no development part; set split.development');
    const { name: taskName, labels } = taskNamed(task);
    const notThere = alerts.find((alert) => !labels.includes(alert));
    if (notThere !== undefined)
      problem(['alerts'], `${JSON.stringify(notThere)} is no label of the task ${taskName}: ${labels.join(', ')}`);
    if (guarantee?.loss === 'withdrawn' && alerts.length === 0)
      problem(['guarantee', 'loss'], 'is about alerts, and no label raises one; name them in alerts');
    if (alerts.length === labels.length)
      problem(['alerts'], 'every label raises an alert; leave alerts out, or name those that may be said early');
    const [unknown] = costs === null ? [] : unknownLabels(costs, labels);
    if (unknown !== undefined)
      problem(
        ['costs', 'wrong'],
        `${JSON.stringify(unknown)} is no label of the task ${taskName}; its labels are ${labels.join(', ')}`,
      );
    if (!state.observesDetector || !('file' in detector)) return;
    const judged = new Set(scheduledLengths({ schedule: detector.schedule, posts: maxJudgedPosts }));
    const queried = queriedLengths({ schedule: state.querySchedule, posts: maxJudgedPosts });
    const unjudged = queried.find((length) => !judged.has(length));
    if (unjudged !== undefined)
      problem(
        ['detector', 'schedule'],
        `state.querySchedule queries ${unjudged} posts, which this schedule leaves out; judge every prefix that the agent may query`,
      );
  })
  .describe('an experiment: one question, its data, its agent, its seeds');
export type Experiment = z.infer<typeof experimentSchema>;

/** The labelling task of an experiment: the detector, the experts, the student, the rules and the scores share it. */
export function taskOf({ task, alerts }: Pick<Experiment, 'task' | 'alerts'>): Task {
  return alerts.length === 0 ? taskNamed(task) : { ...taskNamed(task), alerts };
}

/** The field of a thread that holds a task's label, and what may stand there: for messages. */
function labelField(task: Task): string {
  const { name, labels } = task;
  if (typeof identityOf(task) !== 'string') return `labels.${name}: ${labels.join(', ')}`;
  return name === tasks.rumor.name ? 'rumor: true or false' : `veracity: ${labels.join(', ')}`;
}

/** The refusal of threads of which none has a label. @param rest ends the sentence */
export function noLabels(threads: string, task: Task, rest = ''): InputError {
  return new InputError(`none of the ${threads} has a label (${labelField(task)})${rest}`);
}

/**
 * Fills in the defaults.
 * @param raw with the classes of its task; see `withClasses`
 * @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one.
 */
export function resolveExperiment(raw: PlainObject, source: string): Experiment {
  const input = { ...raw, ...protocolOf(raw, source) };
  return experimentResolver(experimentSchema)({ ...input, ...guaranteeAboutAlerts(input) }, source);
}

/**
 * Cross-fitting, unless the file names parts or a detector that learns from no labels.
 * @throws InputError where it names both protocols
 */
function protocolOf(raw: PlainObject, source: string): PlainObject {
  const { crossFitting, split, detector, evaluation, agent, guarantee, costs = null } = raw;
  const namesParts = split !== undefined && split !== null;
  if (namesParts && crossFitting !== undefined && crossFitting !== null)
    throw new InputError(
      `${source} names both split and crossFitting; with crossFitting every labelled thread trains and is tested, so leave one of them out`,
    );
  const isDevelopment = isPlainObject(evaluation) && evaluation.part === 'development';
  const needsParts = namesParts || isDevelopment || (isPlainObject(detector) && 'file' in detector);
  if (needsParts || crossFitting === null) return {};
  // Other agents have a point of their own where they stop, and costs choose one.
  const wantsGuarantee =
    guarantee !== undefined || (isPlainObject(agent) && agent.algorithm === 'settled' && costs === null);
  return { ...(crossFitting === undefined && { crossFitting: {} }), ...(!wantsGuarantee && { guarantee: null }) };
}

/** With alerts, a guarantee is about them unless the experiment says otherwise. */
function guaranteeAboutAlerts({ alerts, crossFitting = null, split, guarantee = {} }: PlainObject): {
  guarantee?: PlainObject;
} {
  const calibrates = crossFitting !== null || (isPlainObject(split) && Number(split.calibration) > 0);
  if (!calibrates || !Array.isArray(alerts) || alerts.length === 0 || !isPlainObject(guarantee)) return {};
  return { guarantee: { loss: 'withdrawn', ...guarantee } };
}
