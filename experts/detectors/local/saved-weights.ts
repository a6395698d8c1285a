import { floatsToBase64, integersToBase64 } from '../../../src/base64-floats.ts';
import type { SavedBlock } from '../../../src/data/prefix-model.ts';
import { ngramUnits } from '../../../src/text/ngram-counts.ts';
import type { FittedModel } from './local-detector.ts';
import { type FeatureBlock, replyWeight, type TrainingRows } from './training-rows.ts';

/** Weights as they are saved: against class 0, of features of length 1. */
export function savedWeights(options: {
  weights: Float64Array;
  rows: Pick<TrainingRows, 'blocks' | 'timing'>;
  /** Of the times, on logits that the temperature has divided; null without times. */
  timingWeights: Float64Array | null;
  temperature: number;
  characterWeight: number;
  classCount: number;
}): Pick<FittedModel, 'claim' | 'replies' | 'timing' | 'intercepts' | 'embedding'> {
  const { weights, timingWeights, temperature, characterWeight, classCount } = options;
  const { blocks, timing } = options.rows;
  const relative = (column: number, label: number, of = weights) =>
    of[column * classCount + label] - of[column * classCount];
  const others = classCount - 1;
  const scaled = ({ from, columns, scale }: { from: number; columns: number; scale: number }, of = weights) =>
    floatsToBase64(
      Float32Array.from(
        { length: columns * others },
        (_, index) => scale * relative(from + Math.floor(index / others), 1 + (index % others), of),
      ),
    );
  const weightsOf = ({ part, kind, from, columns }: FeatureBlock) =>
    scaled({
      from,
      columns,
      scale: (part === 'replies' ? replyWeight : 1) * (kind === 'characters' ? characterWeight : 1),
    });
  const find = (part: FeatureBlock['part'], kind: FeatureBlock['kind']) =>
    blocks.find((block) => block.part === part && block.kind === kind);
  const saved = (part: FeatureBlock['part'], kind: FeatureBlock['kind']): SavedBlock => {
    const block = find(part, kind);
    if (block?.vocabulary === undefined) throw new Error(`there are no features of ${kind} of the ${part}`);
    if (kind === 'characters' && characterWeight === 0) return { keys: '', idf: '', weights: '' };
    const { keys, idf } = block.vocabulary;
    return { keys: integersToBase64(keys), idf: floatsToBase64(idf), weights: weightsOf(block) };
  };
  const ngramsOf = (part: FeatureBlock['part']) => ({
    words: saved(part, ngramUnits[0]),
    characters: saved(part, ngramUnits[1]),
  });
  const [claim, replies] = [find('claim', 'embedding'), find('replies', 'embedding')];
  const constant = weights.length / classCount - 1;
  return {
    claim: ngramsOf('claim'),
    replies: ngramsOf('replies'),
    ...(timing !== null &&
      timingWeights !== null && {
        timing: {
          means: [...timing.scale.means],
          deviations: [...timing.scale.deviations],
          weights: scaled({ from: 0, columns: timing.values.columns, scale: temperature }, timingWeights),
        },
      }),
    intercepts: Array.from({ length: classCount }, (_, label) => relative(constant, label)),
    embedding:
      claim === undefined || replies === undefined ? null : { claim: weightsOf(claim), replies: weightsOf(replies) },
  };
}
