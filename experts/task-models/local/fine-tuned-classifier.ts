import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { finishHash, mixIntoHash, scrambleWord } from '../../../src/text/murmur3.ts';
import type { TaskModelState } from '../task-model.ts';
import { minimize, softmaxLoss } from './softmax-regression.ts';
import type { SparseMatrix } from './sparse-matrix.ts';

/** The pulls differ by task, as do the numbers and the kinds of labels. */
export const fineTunedClassifierOptionsSchema = (defaults: { l2: number; pretrainL2: number }) =>
  z
    .strictObject({
      l2: z
        .number()
        .positive()
        .default(defaults.l2)
        .describe(
          'pull of tuned weights to the pretrained ones, beside the summed loss; higher trusts new labels less',
        ),
      pretrainL2: z
        .number()
        .positive()
        .default(defaults.pretrainL2)
        .describe('the same for pretraining: pull to the weights before it'),
      tuneFrom: z
        .enum(['pretrained', 'nothing'])
        .default('pretrained')
        .describe(
          'the weights that tuned ones are pulled to: the pretrained ones, or none, so that all is learnt anew from the examples',
        ),
      classWeights: z
        .enum(['none', 'root', 'balanced'])
        .default('root')
        .describe('weigh examples by 1, by 1/√ or by 1/ the count of their class; "none" gives calibrated frequencies'),
      tolerance: z
        .number()
        .positive()
        .default(1e-3)
        .describe('distance of the loss to its minimum that ends a fit, in nats'),
      steps: z.int().min(1).default(300).describe('most steps of a fit'),
      folds: z
        .int()
        .min(1)
        .max(20)
        .default(3)
        .describe('held-out classifiers, for threads that were trained on; 1 lets labels echo back'),
    })
    .prefault({})
    .describe('how weights are fitted');

export type FineTunedClassifierOptions = z.infer<ReturnType<typeof fineTunedClassifierOptionsSchema>>;

/** Rows with their labels; threads tell which rows must be held out together. */
interface LabelledRows {
  readonly features: SparseMatrix;
  /** Indices of classes, checked by `checkLabels`. */
  readonly labels: readonly number[];
  readonly threadIds: readonly string[];
}

const stateSchema = z.strictObject({ pretrainedOn: z.array(z.string()), tunedOn: z.array(z.string()) });

/** The classifier of all examples first, then those that did not see fold 0, 1, … */
interface Fits {
  readonly weights: readonly Float64Array[];
  readonly threadIds: ReadonlySet<string>;
}

/**
 * Softmax regression that is pretrained and then tuned, any number of times: each fit is the most probable one under a
 * Gaussian prior around the weights it starts from, so that tuning on little changes little. A thread that any example
 * came from is predicted by the classifier that saw no example of its fold, in pretraining or tuning, neither as data
 * nor as a start: with few claims and many features, the others would repeat the label they were given.
 */
export class FineTunedClassifier {
  private readonly prior: Float64Array;
  private readonly classCount: number;
  private readonly options: FineTunedClassifierOptions;
  private pretrained: Fits;
  private tuned: Fits;

  constructor(setup: { prior: Float64Array; classCount: number; options: FineTunedClassifierOptions }) {
    this.prior = setup.prior;
    this.classCount = setup.classCount;
    this.options = setup.options;
    const untrained = Array.from({ length: this.fitCount }, () => setup.prior);
    this.pretrained = { weights: untrained, threadIds: new Set() };
    this.tuned = this.pretrained;
  }

  /** Of all fits, `[features, classes]` each; replaced, never changed, by training. */
  get weights(): readonly Float64Array[] {
    return this.tuned.weights;
  }

  /** Index in `weights` of the classifier that may judge the thread. */
  fitFor(threadId: string): number {
    const { folds } = this.options;
    if (folds === 1) return 0;
    const isKnown = this.tuned.threadIds.has(threadId) || this.pretrained.threadIds.has(threadId);
    return isKnown ? 1 + holdOutFold({ threadId, folds }) : 0;
  }

  checkLabels(examples: readonly { readonly label: number }[]): void {
    const last = this.classCount - 1;
    for (const [index, { label }] of examples.entries())
      if (!Number.isInteger(label) || label < 0 || label > last)
        throw new InputError(
          `example ${index} has the class ${label}; give the index of one of the ${last + 1} classes, 0 to ${last}`,
        );
  }

  async pretrain(rows: LabelledRows): Promise<void> {
    // Labels of other data may leave classes out (favor and against know no query): those are then not ruled out, but
    // out of the question. Otherwise nothing would be one of them any more.
    const candidates = Array.from({ length: this.classCount }, (_, label) => rows.labels.includes(label));
    const untrained = Array.from({ length: this.fitCount }, () => this.prior);
    this.pretrained = await this.fit({ rows, candidates, priors: untrained, l2: this.options.pretrainL2 });
    this.tuned = { weights: this.pretrained.weights, threadIds: new Set() };
  }

  async tune(rows: LabelledRows): Promise<void> {
    const candidates = Array.from({ length: this.classCount }, () => true);
    this.tuned = await this.fit({ rows, candidates, priors: this.tuningPriors(rows), l2: this.options.l2 });
  }

  state(): TaskModelState {
    const shape = [this.fitCount, this.prior.length / this.classCount, this.classCount];
    return {
      arrays: {
        pretrained: { shape, data: joined(this.pretrained.weights) },
        tuned: { shape, data: joined(this.tuned.weights) },
      },
      json: { pretrainedOn: [...this.pretrained.threadIds], tunedOn: [...this.tuned.threadIds] },
    };
  }

  restore(state: TaskModelState): void {
    const parsed = stateSchema.safeParse(state.json);
    if (!parsed.success)
      throw new InputError(`this is no state of a local task model:\n${z.prettifyError(parsed.error)}`);
    const pretrained = this.splitArray({ state, name: 'pretrained' });
    const tuned = this.splitArray({ state, name: 'tuned' });
    this.pretrained = { weights: pretrained, threadIds: new Set(parsed.data.pretrainedOn) };
    this.tuned = { weights: tuned, threadIds: new Set(parsed.data.tunedOn) };
  }

  private tuningPriors({ labels }: LabelledRows): readonly Float64Array[] {
    const { weights } = this.pretrained;
    // No examples bring the pretrained model back, whatever tuning starts from.
    if (this.options.tuneFrom === 'pretrained' || labels.length === 0) return weights;
    return weights.map(({ length }) => new Float64Array(length));
  }

  private get fitCount(): number {
    return this.options.folds === 1 ? 1 : 1 + this.options.folds;
  }

  private async fit(options: {
    rows: LabelledRows;
    candidates: readonly boolean[];
    priors: readonly Float64Array[];
    l2: number;
  }): Promise<Fits> {
    const { rows, candidates, priors, l2 } = options;
    const { folds, classWeights, tolerance, steps } = this.options;
    const foldOfRow = rows.threadIds.map((threadId) => holdOutFold({ threadId, folds }));
    const labels = Int32Array.from(rows.labels);
    const weights: Float64Array[] = [];
    for (const [index, prior] of priors.entries()) {
      // The first classifier holds out no fold.
      const isUsed = foldOfRow.map((fold) => fold !== index - 1);
      const usedRows = isUsed.filter(Boolean).length;
      if (usedRows === 0) {
        weights.push(prior);
        continue;
      }
      const rowWeights = weightsOfRows({ labels, isUsed, classWeights });
      // The loss is a mean, so the prior is divided by the rows, too: the more examples, the less it counts.
      const convexity = l2 / usedRows;
      const problem = { features: rows.features, labels, rowWeights, candidates, prior, l2: convexity };
      const { point } = await minimize({
        start: prior,
        lossAt: (at, gradient) => softmaxLoss({ problem, weights: at, gradient }),
        convexity,
        tolerance,
        maximumSteps: steps,
      });
      weights.push(point);
    }
    return { weights, threadIds: new Set(rows.threadIds) };
  }

  private splitArray(options: { state: TaskModelState; name: string }): Float64Array[] {
    const { fitCount, prior } = this;
    const data = options.state.arrays[options.name]?.data;
    if (!(data instanceof Float64Array) || data.length !== fitCount * prior.length)
      throw new InputError(
        `the array ${options.name} of the state holds ${data?.length ?? 'no'} numbers instead of ${fitCount * prior.length}; ` +
          'restore it into a model with the same encoder and options',
      );
    return Array.from({ length: fitCount }, (_, index) => data.slice(index * prior.length, (index + 1) * prior.length));
  }
}

function joined(fits: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(fits.length * fits[0].length);
  for (const [index, fit] of fits.entries()) all.set(fit, index * fit.length);
  return all;
}

/** They sum to 1. */
function weightsOfRows(options: {
  labels: Int32Array;
  isUsed: readonly boolean[];
  classWeights: FineTunedClassifierOptions['classWeights'];
}): Float64Array {
  const { labels, isUsed, classWeights } = options;
  const counts = new Map<number, number>();
  for (const [row, label] of labels.entries()) if (isUsed[row]) counts.set(label, (counts.get(label) ?? 0) + 1);
  const power = { none: 0, root: 0.5, balanced: 1 }[classWeights];
  const weightOf = (label: number) => (counts.get(label) ?? 0) ** -power;
  let total = 0;
  for (const [label, count] of counts) total += count * weightOf(label);
  return Float64Array.from(labels, (label, row) => (isUsed[row] ? weightOf(label) / total : 0));
}

/** Which fold a thread belongs to: by its id alone, so that it stays there whatever else is trained on. */
function holdOutFold(options: { threadId: string; folds: number }): number {
  const { threadId, folds } = options;
  let hash = 0;
  for (let index = 0; index < threadId.length; index++)
    hash = mixIntoHash(hash, scrambleWord(threadId.charCodeAt(index)));
  return (finishHash(hash, 4 * threadId.length) >>> 0) % folds;
}
