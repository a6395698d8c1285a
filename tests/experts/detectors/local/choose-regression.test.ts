import { describe, expect, it } from 'vitest';
import { chooseRegression } from '../../../../experts/detectors/local/choose-regression.ts';
import { savedWeights } from '../../../../experts/detectors/local/saved-weights.ts';
import { loneClaimWeight, ngramLengths, trainingRows } from '../../../../experts/detectors/local/training-rows.ts';
import { prefixGrower } from '../../../../src/data/growing-prefix.ts';
import { replyScales } from '../../../../src/data/prefix-model.ts';
import { certainTargets } from '../../../../src/regression/softmax-regression.ts';
import { Random } from '../../../../src/tensor/random.ts';
import { ngramVersion } from '../../../../src/text/ngram-counts.ts';
import { threadOf, toyThreads } from '../../threads.ts';

const words = ['weather', 'hoax'];
const random = Random.seeded({ seed: 3, purpose: 'test threads' });
const either = () => words[Number(random.uniform() < 0.5)];

/** Threads of one reply and of 15, of either label in turn, with the words that `says` gives claim and replies. */
function threadsOf(says: (label: number, replies: number) => { claim: string; reply: () => string }) {
  return Array.from({ length: 80 }, (_, index) => {
    const [label, replies] = [index % 2, index % 4 < 2 ? 1 : 15];
    const { claim, reply } = says(label, replies);
    const texts = [`news ${claim}`, ...Array.from({ length: replies }, () => `people ${reply()}`)];
    return { label, thread: threadOf({ id: `thread-${index}`, texts }) };
  });
}

async function choose(labelled: ReturnType<typeof threadsOf>, scales: readonly (typeof replyScales)[number][]) {
  const rows = await trainingRows({ threads: labelled.map(({ thread }) => thread), encoder: null, maxPosts: 500 });
  const targets = certainTargets({
    labels: Array.from(rows.threadOfRow, (thread) => labelled[thread].label),
    classCount: 2,
  });
  const chosen = await chooseRegression({
    rows,
    targets,
    rowWeights: new Float64Array(rows.threadOfRow.length).fill(1),
    classCount: 2,
    foldOfRow: rows.threadOfRow.map((thread) => Math.floor(thread / 2) % 3),
    folds: 3,
    characterWeights: [0.5],
    replyScales: scales,
    l2: [3e-3],
  });
  return { rows, chosen };
}

describe('the choice of a regression', () => {
  it('lets replies weigh more the more they are, where only many say something', async () => {
    const threads = threadsOf((label, replies) =>
      replies === 1
        ? { claim: words[label], reply: either }
        : { claim: either(), reply: () => words[random.uniform() < 0.8 ? label : 1 - label] },
    );
    const { chosen } = await choose(threads, replyScales);
    expect(chosen.replyScale).toBe('logarithmic');
  });

  it('keeps the first weight, whichever that is, where the other is no better than by chance', async () => {
    // Nine replies weigh the same either way.
    const labelled = toyThreads({ count: 24, seed: 5, posts: 10 }).map((thread) => ({
      thread,
      label: Number(thread.rumor),
    }));
    const [one, other] = await Promise.all(
      [replyScales, replyScales.toReversed()].map((scales) => choose(labelled, scales)),
    );
    expect(one.chosen.replyScale).toBe('constant');
    expect(other.chosen.replyScale).toBe('logarithmic');
    expect(one.chosen.loss).not.toBe(other.chosen.loss);
  });

  it.each(replyScales)('finds what a growing thread is scored by (%s)', async (replyScale) => {
    const threads = threadsOf((label) => ({ claim: either(), reply: () => words[label] }));
    const { rows, chosen } = await choose(threads, [replyScale]);
    const open = prefixGrower({
      labels: ['non-rumor', 'rumor'],
      ngrams: { version: ngramVersion, ...ngramLengths },
      loneClaimWeight,
      replyScale,
      temperature: 1,
      offsets: [0, 0],
      ...savedWeights({ ...chosen, weights: chosen.whole.weights(), blocks: rows.blocks, classCount: 2 }),
    });
    for (const [row, length] of rows.lengthOfRow.entries()) {
      const thread = open();
      for (const { text } of threads[rows.threadOfRow[row]].thread.posts) thread.add(text);
      const [first, second] = chosen.whole.logits.subarray(2 * row, 2 * row + 2);
      expect(thread.logits(length)[1]).toBeCloseTo(second - first, 4);
    }
  });
});
