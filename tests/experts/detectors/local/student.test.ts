import { beforeAll, describe, expect, it } from 'vitest';
import { trainStudent } from '../../../../experts/detectors/local/student.ts';
import {
  localDetectorOptionsSchema,
  trainCrossFitted,
} from '../../../../experts/detectors/local/train-local-detector.ts';
import { judgementSequence } from '../../../../experts/judgement-sequence.ts';
import { synthesizeThreads } from '../../../../src/data/synthetic/stream.ts';
import { rumorTask } from '../../../../src/data/task.ts';
import { prefixOf, type Thread } from '../../../../src/data/thread.ts';
import { selectBackend } from '../../../../src/tensor/backend.ts';

const threads = synthesizeThreads({ threads: 36, seed: 4 });
const options = localDetectorOptionsSchema.parse({
  characterWeights: [1],
  l2: [1e-2],
  folds: 4,
});

/** Judged as the gold label says at every prefix, with this probability. */
function judged(thread: Thread, probability = 0.9) {
  const label = thread.rumor ? 'rumor' : 'non-rumor';
  const other = thread.rumor ? 'non-rumor' : 'rumor';
  const judgement = { label, probabilities: { [label]: probability, [other]: 1 - probability } };
  const judgements = thread.posts.map(() => judgement);
  return { thread, sequence: judgementSequence({ threadId: thread.id, labels: rumorTask.labels, judgements }) };
}

const settings = { task: rumorTask, options, seed: 1, fitting: 'cross-fitted', targets: 'probabilities' } as const;
const demonstrations = threads.slice(0, 16).map((thread) => judged(thread));
const further = threads.slice(16, 32).map((thread) => judged(thread));

/** The log-odds of each prefix, of two probabilities. */
const logOdds = (rows: Float64Array = new Float64Array(0)) =>
  Array.from({ length: rows.length / 2 }, (_, prefix) => Math.log(rows[2 * prefix + 1] / rows[2 * prefix]));

beforeAll(() => selectBackend('cpu'));

describe('a cross-fitted student', () => {
  it('reads every thread that it learnt from, the environment’s too, without having seen it', async () => {
    const { heldOut } = await trainStudent({ ...settings, demonstrations, further });
    expect([...heldOut.keys()].sort()).toEqual(
      threads
        .slice(0, 32)
        .map(({ id }) => id)
        .sort(),
    );
    // What the detector said of a thread changes how other threads are read, and not how it is read itself, but for the
    // calibration, which is one for all: a factor and a power of the length.
    const [first, ...others] = further;
    const changed = [judged(first.thread, 0.55), ...others];
    const again = (await trainStudent({ ...settings, demonstrations, further: changed })).heldOut;
    const ratios = (id: string) => {
      const [before, after] = [heldOut, again].map((features) => logOdds(features.get(id)));
      return before.map((value, index) => after[index] / value);
    };
    const [scale, second] = ratios(first.thread.id);
    const power = Math.log2(second / scale);
    const beside = (id: string) => ratios(id).map((ratio, index) => ratio / (scale * (index + 1) ** power));
    for (const ratio of beside(first.thread.id)) expect(ratio).toBeCloseTo(1, 4);
    const away = [...demonstrations, ...others].flatMap(({ thread }) =>
      beside(thread.id).map((ratio) => Math.abs(ratio - 1)),
    );
    expect(Math.max(...away)).toBeGreaterThan(1e-3);
  });

  it('reads other threads by the mean of the folds’ weights, which is nearly that of their log-odds', async () => {
    const { folds, mean, whole, foldOf } = await trainCrossFitted({ ...settings, threads: threads.slice(0, 32) });
    expect(folds).toHaveLength(4);
    expect(new Set(foldOf.values()).size).toBe(4);
    const prefix = prefixOf(threads[33], 3);
    const oddsBy = async (detector: typeof mean) => {
      const { probabilities } = await detector.judge(prefix);
      return Math.log(probabilities!.rumor / probabilities!['non-rumor']);
    };
    const ofFolds = await Promise.all(folds.map(oddsBy));
    expect(await oddsBy(mean)).toBeCloseTo(ofFolds.reduce((sum, odds) => sum + odds, 0) / 4, 3);
    expect(Math.abs((await oddsBy(whole)) - (await oddsBy(mean)))).toBeGreaterThan(1e-3);
    // A fold leaves out n-grams that only its own threads have.
    const ngramsOf = ({ model }: typeof mean) => model.replies.words.keys.length;
    for (const fold of folds) expect(ngramsOf(fold)).toBeLessThan(ngramsOf(mean));
    expect(ngramsOf(mean)).toBe(ngramsOf(whole));
  });
});

describe('a student of all threads', () => {
  it('holds the demonstrations out and reads the environment by itself', async () => {
    const { heldOut } = await trainStudent({ ...settings, fitting: 'whole', demonstrations, further });
    expect([...heldOut.keys()].sort()).toEqual(demonstrations.map(({ thread }) => thread.id).sort());
  });
});

describe('what a student learns', () => {
  it('is as unsure as its detector, where it learns probabilities', async () => {
    const unsure = threads.slice(0, 32).map((thread) => judged(thread, 0.6));
    const certainty = async (targets: 'labels' | 'probabilities') => {
      const { reader } = await trainStudent({ ...settings, demonstrations: unsure, further: [], targets });
      const read = await Promise.all(
        threads.slice(32).map((thread) => reader.judge(prefixOf(thread, thread.posts.length))),
      );
      const odds = read.map(({ probabilities }) =>
        Math.abs(Math.log(probabilities!.rumor / probabilities!['non-rumor'])),
      );
      return odds.reduce((sum, own) => sum + own, 0) / odds.length;
    };
    const [labels, probabilities] = [await certainty('labels'), await certainty('probabilities')];
    // A detector that says 0.6 has log-odds of 0.41.
    expect(probabilities).toBeLessThan(0.5);
    expect(labels).toBeGreaterThan(probabilities);
  });

  it('is the label of a judgement without probabilities', async () => {
    const bare = threads.slice(0, 32).map((thread) => {
      const { sequence } = judged(thread);
      return { thread, sequence: { ...sequence, probabilities: sequence.probabilities.map(() => Number.NaN) } };
    });
    const [soft, hard] = await Promise.all(
      (['probabilities', 'labels'] as const).map((targets) =>
        trainStudent({ ...settings, demonstrations: bare, further: [], targets }),
      ),
    );
    expect(soft.reader.model).toEqual(hard.reader.model);
  });
});
