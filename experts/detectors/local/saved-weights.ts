import { floatsToBase64, integersToBase64 } from '../../../src/base64-floats.ts';
import type { SavedBlock } from '../../../src/data/prefix-model.ts';
import type { FittedModel } from './local-detector.ts';
import { type FeatureBlock, replyWeight, type TrainingRows } from './training-rows.ts';

/** The part of a saved detector that weights determine. */
export type SavedWeights = Pick<FittedModel, 'claim' | 'replies' | 'timing' | 'intercepts' | 'embedding'>;

/**
 * Converts weights to the saved form: relative to class 0, for features of length 1.
 * @param options.seenColumns 1 for each column whose n-gram is saved; all by default
 */
export function savedWeights(options: {
  weights: Float64Array;
  seenColumns?: Uint8Array | undefined;
  rows: Pick<TrainingRows, 'blocks' | 'timing'>;
  /** Weights of the times, for logits divided by the temperature; null without times. */
  timingWeights: Float64Array | null;
  temperature: number;
  characterWeight: number;
  classCount: number;
}): SavedWeights {
  const { weights, seenColumns, timingWeights, temperature, characterWeight, classCount } = options;
  const { blocks, timing } = options.rows;
  const others = classCount - 1;
  const relative = (of: Float64Array, column: number, label: number) =>
    of[column * classCount + label] - of[column * classCount];
  const scaled = (of: Float64Array, { columns, scale }: { columns: ArrayLike<number>; scale: number }) =>
    floatsToBase64(
      Float32Array.from(
        { length: columns.length * others },
        (_, index) => scale * relative(of, columns[Math.floor(index / others)], 1 + (index % others)),
      ),
    );
  const saved = (part: FeatureBlock['part'], kind: FeatureBlock['kind']): SavedBlock | null => {
    const block = blocks.find((candidate) => candidate.part === part && candidate.kind === kind);
    if (block === undefined || (kind === 'characters' && characterWeight === 0)) return null;
    const scale = (part === 'replies' ? replyWeight : 1) * (kind === 'characters' ? characterWeight : 1);
    const { keys = new Int32Array(), idf = new Float32Array() } = block.vocabulary ?? {};
    const isSeen = (_: number, index: number) => seenColumns?.[block.from + index] !== 0;
    const columns = Int32Array.from({ length: block.columns }, (_, index) => block.from + index).filter(isSeen);
    return {
      keys: integersToBase64(keys.filter(isSeen)),
      idf: floatsToBase64(idf.filter(isSeen)),
      weights: scaled(weights, { columns, scale }),
    };
  };
  const nothing = { keys: '', idf: '', weights: '' };
  const ngramsOf = (part: FeatureBlock['part']) => ({
    words: saved(part, 'words') ?? nothing,
    characters: saved(part, 'characters') ?? nothing,
  });
  const [claim, replies] = [saved('claim', 'embedding'), saved('replies', 'embedding')];
  const constant = weights.length / classCount - 1;
  return {
    claim: ngramsOf('claim'),
    replies: ngramsOf('replies'),
    ...(timing !== null &&
      timingWeights !== null && {
        timing: {
          means: [...timing.scale.means],
          deviations: [...timing.scale.deviations],
          weights: scaled(timingWeights, {
            columns: Int32Array.from({ length: timing.values.columns }, (_, column) => column),
            scale: temperature,
          }),
        },
      }),
    intercepts: Array.from({ length: classCount }, (_, label) => relative(weights, constant, label)),
    embedding: claim && replies && { claim: claim.weights, replies: replies.weights },
  };
}
