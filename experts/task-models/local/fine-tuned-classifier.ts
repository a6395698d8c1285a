import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import { InputError } from '../../../src/errors.ts';
import { fitLabels } from '../../../src/regression/label-classifier.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { finishHash, mixIntoHash, scrambleWord } from '../../../src/text/murmur3.ts';
import type { TaskModelState } from '../task-model.ts';

/** The penalties differ by task, because the number and the kind of the labels do. */
export const fineTunedClassifierOptionsSchema = (defaults: { l2: number; pretrainL2: number }) =>
  z
    .strictObject({
      l2: z
        .number()
        .positive()
        .default(defaults.l2)
        .describe(
          'penalty that pulls tuned weights towards the pretrained ones, relative to the summed loss; higher trusts new labels less',
        ),
      pretrainL2: z
        .number()
        .positive()
        .default(defaults.pretrainL2)
        .describe('the same for pretraining: pulls towards the weights before it'),
      tuneFrom: z
        .enum(['pretrained', 'nothing'])
        .default('pretrained')
        .describe(
          'what tuned weights are pulled towards: the pretrained ones, or zero, so that everything is learnt from the examples',
        ),
      classWeights: z
        .enum(['none', 'root', 'balanced'])
        .default('root')
        .describe('weigh examples by 1, by 1/√ or by 1/ the count of their class; "none" gives calibrated frequencies'),
      folds: z
        .int()
        .min(1)
        .max(20)
        .default(3)
        .describe('held-out classifiers, for threads that were trained on; with 1, labels are just repeated'),
    })
    .prefault({})
    .describe('how weights are fitted');

export type FineTunedClassifierOptions = z.infer<ReturnType<typeof fineTunedClassifierOptionsSchema>>;

/** Rows with their labels. Rows of one thread are held out together. */
interface LabelledReplies {
  readonly features: SparseMatrix;
  /** Class indices. */
  readonly labels: readonly number[];
  readonly threadIds: readonly string[];
}

const stateSchema = z.strictObject({ pretrainedOn: z.array(z.string()), tunedOn: z.array(z.string()) });

/** The classifier of all examples, then those without fold 0, 1, … */
interface Fits {
  readonly weights: readonly Float64Array[];
  readonly threadIds: ReadonlySet<string>;
}

/**
 * Softmax regression with pretraining and any number of tunings. Each fit is the most probable one under a Gaussian
 * prior around its start weights, so tuning on few data changes little. A thread with an example is predicted by the
 * classifier without its fold, in pretraining and in tuning: with few claims and many features, the others would just
 * repeat its label.
 */
export function fineTunedClassifier(setup: {
  prior: Float64Array;
  classCount: number;
  options: FineTunedClassifierOptions;
}) {
  const { prior, classCount, options } = setup;
  const { folds, pretrainL2, l2, tuneFrom } = options;
  const fitCount = folds === 1 ? 1 : 1 + folds;
  const allClasses = Array.from({ length: classCount }, (_, label) => label);
  const untrained = Array.from({ length: fitCount }, () => prior);
  let pretrained: Fits = { weights: untrained, threadIds: new Set() };
  let tuned = pretrained;
  return {
    /** The weights of all fits, each `[features, classes]`. Training replaces these arrays and never changes them. */
    weights: () => tuned.weights,
    /** Index in `weights` of the classifier that may predict the thread. */
    fitFor(threadId: string): number {
      if (folds === 1) return 0;
      const isKnown = tuned.threadIds.has(threadId) || pretrained.threadIds.has(threadId);
      return isKnown ? 1 + holdOutFold({ threadId, folds }) : 0;
    },
    async pretrain(rows: LabelledReplies): Promise<void> {
      // Labels of other data may lack some classes (favor and against have no query). The loss leaves these out;
      // otherwise they would be unlearned and never predicted again.
      const classes = allClasses.filter((label) => rows.labels.includes(label));
      pretrained = await fitFolds(rows, { classes, classCount, priors: untrained, l2: pretrainL2, options });
      tuned = { weights: pretrained.weights, threadIds: new Set() };
    },
    async tune(rows: LabelledReplies): Promise<void> {
      // Without examples the pretrained model returns, whatever tuning starts from.
      const isAnew = tuneFrom === 'nothing' && rows.labels.length > 0;
      const priors = isAnew ? untrained.map(({ length }) => new Float64Array(length)) : pretrained.weights;
      tuned = await fitFolds(rows, { classes: allClasses, classCount, priors, l2, options });
    },
    state(): TaskModelState {
      const shape = [fitCount, prior.length / classCount, classCount];
      return {
        arrays: {
          pretrained: { shape, data: joinArrays(pretrained.weights) },
          tuned: { shape, data: joinArrays(tuned.weights) },
        },
        json: { pretrainedOn: [...pretrained.threadIds], tunedOn: [...tuned.threadIds] },
      };
    },
    restore(saved: TaskModelState): void {
      const state = checked(stateSchema, saved.json, 'this is not the state of a local task model');
      const weightsOf = (name: string) => splitArray(saved, { name, count: fitCount, length: prior.length });
      pretrained = { weights: weightsOf('pretrained'), threadIds: new Set(state.pretrainedOn) };
      tuned = { weights: weightsOf('tuned'), threadIds: new Set(state.tunedOn) };
    },
  };
}

/** Fits all rows, and the rows without each fold. */
async function fitFolds(
  { features, labels, threadIds }: LabelledReplies,
  of: {
    classes: readonly number[];
    classCount: number;
    priors: readonly Float64Array[];
    l2: number;
    options: FineTunedClassifierOptions;
  },
): Promise<Fits> {
  const { classes, classCount, priors, l2, options } = of;
  const foldOfRow = threadIds.map((threadId) => holdOutFold({ threadId, folds: options.folds }));
  const weights: Float64Array[] = [];
  for (const [index, prior] of priors.entries()) {
    // The first classifier holds out no fold.
    const rowWeights = Float64Array.from(foldOfRow, (fold) => Number(fold !== index - 1));
    const rows = { features, labels, rowWeights, classWeights: options.classWeights };
    const fitted = rowWeights.includes(1) ? await fitLabels({ ...rows, classes, classCount, prior, l2 }) : null;
    weights.push(fitted?.weights() ?? prior);
  }
  return { weights, threadIds: new Set(threadIds) };
}

function joinArrays(fits: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(fits.length * fits[0].length);
  for (const [index, fit] of fits.entries()) all.set(fit, index * fit.length);
  return all;
}

function splitArray(
  { arrays }: TaskModelState,
  { name, count, length }: { name: string; count: number; length: number },
): Float64Array[] {
  const data = arrays[name]?.data;
  if (!(data instanceof Float64Array) || data.length !== count * length)
    throw new InputError(
      `the array ${name} of the state holds ${data?.length ?? 'no'} numbers instead of ${count * length}; ` +
        'restore it into a model with the same encoder and options',
    );
  return Array.from({ length: count }, (_, index) => data.slice(index * length, (index + 1) * length));
}

/** The fold of a thread. It depends on the id alone, so it stays the same for any training data. */
function holdOutFold({ threadId, folds }: { threadId: string; folds: number }): number {
  let hash = 0;
  for (let index = 0; index < threadId.length; index++)
    hash = mixIntoHash(hash, scrambleWord(threadId.charCodeAt(index)));
  return (finishHash(hash, 4 * threadId.length) >>> 0) % folds;
}
