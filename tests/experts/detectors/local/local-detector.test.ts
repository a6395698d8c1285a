import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LocalDetector } from '../../../../experts/detectors/local/local-detector.ts';
import { trainCrossFitted, trainLocalDetector } from '../../../../experts/detectors/local/train-local-detector.ts';
import { floatsFromBase64 } from '../../../../src/base64-floats.ts';
import { rumorTask, veracityTask } from '../../../../src/data/task.ts';
import { prefixOf, type Thread } from '../../../../src/data/thread.ts';
import { InputError } from '../../../../src/errors.ts';
import { Random } from '../../../../src/tensor/random.ts';
import { createEncoder } from '../../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../../src/text/encoder.ts';
import { threadOf, timed, toyThreads } from '../../threads.ts';

const training = toyThreads({ count: 60, seed: 1 });
const unseen = toyThreads({ count: 200, seed: 2 });
const encoder = { name: 'hashing', dimensions: 256 } as const;
const options = { characterWeights: [1], l2: [1e-3, 1e-2] };
const train = (threads: readonly Thread[] = training) =>
  trainLocalDetector({ threads, task: rumorTask, options, seed: 7 });

let detector: LocalDetector;
beforeAll(async () => {
  detector = await train();
});

async function judgeAll(judge: LocalDetector, threads: readonly Thread[]) {
  const judged = [];
  for (const thread of threads)
    for (let length = 1; length <= thread.posts.length; length++) {
      const judgement = await judge.judge(prefixOf(thread, length));
      judged.push({ thread, length, judgement, rumor: judgement.probabilities?.rumor ?? Number.NaN });
    }
  return judged;
}

describe('the local detector', () => {
  it('learns a separable set, the better the more posts it reads', async () => {
    const judged = await judgeAll(detector, unseen);
    const accuracy = (chosen: typeof judged) =>
      chosen.filter(({ thread, judgement }) => (judgement.label === 'rumor') === thread.rumor).length / chosen.length;
    expect(accuracy(judged.filter(({ length }) => length === 1))).toBeGreaterThan(0.7);
    expect(accuracy(judged.filter(({ length }) => length === 6))).toBeGreaterThan(0.9);
  });

  it('gives probabilities that sum to 1, the label with the largest, and the posts behind it', async () => {
    for (const { judgement } of await judgeAll(detector, unseen.slice(0, 20))) {
      const { rumor, 'non-rumor': plain } = judgement.probabilities ?? {};
      expect(rumor + plain).toBeCloseTo(1, 12);
      expect(judgement.label).toBe(rumor > plain ? 'rumor' : 'non-rumor');
    }
    const one = threadOf({ id: 'one', texts: ['the town say', 'allegedly hoax doubt fake'] });
    const { explanation } = await detector.judge(prefixOf(one, 2));
    expect(explanation).toMatch(/^p\(rumor\) = 0\.\d\d; weightiest posts: 2 \(\+\d\.\d\d\), 1 \([+−]\d\.\d\d\)$/);
  });

  it('is calibrated: of the prefixes it gives p, about a share p are rumours', async () => {
    const judged = await judgeAll(detector, toyThreads({ count: 600, seed: 3 }));
    let error = 0;
    for (const [low, high] of [
      [0, 0.25],
      [0.25, 0.5],
      [0.5, 0.75],
      [0.75, 1.01],
    ]) {
      const bin = judged.filter(({ rumor }) => rumor >= low && rumor < high);
      const mean = bin.reduce((sum, { rumor }) => sum + rumor, 0) / bin.length;
      const share = bin.filter(({ thread }) => thread.rumor).length / bin.length;
      error += (bin.length / judged.length) * Math.abs(mean - share);
    }
    expect(error).toBeLessThan(0.08);
  });

  it('judges a prefix the same whatever comes later, was asked before, or is asked at the same time', async () => {
    const texts = ['people say fake', 'official thanks', 'hoax now', 'weather today', 'doubt about news'];
    const full = threadOf({ id: 'x', texts });
    const alone = threadOf({ id: 'y', texts: texts.slice(0, 2) });
    const otherEnd = threadOf({ id: 'x', texts: [...texts.slice(0, 2), 'unconfirmed', 'game'] });
    const expected = await detector.judge(prefixOf(alone, 2));
    await detector.judge(prefixOf(full, 5));
    expect(await detector.judge(prefixOf(full, 2))).toEqual(expected);
    expect(await detector.judge(prefixOf(otherEnd, 2))).toEqual(expected);

    const fresh = new LocalDetector({ model: detector.model, encoder: null });
    const questions = [prefixOf(full, 5), prefixOf(full, 2), prefixOf(otherEnd, 4), prefixOf(full, 3)];
    const together = await Promise.all(questions.map((prefix) => fresh.judge(prefix)));
    for (const [index, prefix] of questions.entries()) expect(together[index]).toEqual(await detector.judge(prefix));
  });

  it('reads with an encoder, too, each post of a growing thread once', async () => {
    const inner = await createEncoder(encoder);
    let encoded = 0;
    const counting: Encoder = {
      ...inner,
      encode: (texts) => {
        encoded += texts.length;
        return inner.encode(texts);
      },
    };
    const trained = await trainLocalDetector({
      threads: training,
      task: rumorTask,
      options: { ...options, encoder },
      seed: 7,
    });
    const counted = new LocalDetector({ model: trained.model, encoder: counting });
    const long = threadOf({ id: 'long', texts: Array.from({ length: 100 }, (_, post) => `post ${post}`) });
    await judgeAll(counted, [long]);
    expect(encoded).toBe(100);
    expect(() => new LocalDetector({ model: trained.model, encoder: null })).toThrow(
      /was trained with the encoder .*but was given no encoder/,
    );
    const judged = await judgeAll(counted, unseen.slice(0, 60));
    const right = judged.filter(({ thread, judgement }) => (judgement.label === 'rumor') === thread.rumor).length;
    expect(right / judged.length).toBeGreaterThan(0.7);
  });

  it('is the same after saving and loading', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'earshot-local-'));
    try {
      const path = join(directory, 'detector.json');
      detector.save(path);
      const loaded = await LocalDetector.load({ path });
      expect(loaded.options).toEqual(detector.options);
      const again = join(directory, 'again.json');
      loaded.save(again);
      expect(readFileSync(again, 'utf8')).toBe(readFileSync(path, 'utf8'));
      expect(await judgeAll(loaded, unseen.slice(0, 30))).toEqual(await judgeAll(detector, unseen.slice(0, 30)));

      const saved = JSON.parse(readFileSync(path, 'utf8'));
      const claim = { ...saved.claim, words: { ...saved.claim.words, idf: saved.claim.words.idf.slice(0, 400) } };
      writeFileSync(path, JSON.stringify({ ...saved, claim }));
      await expect(LocalDetector.load({ path })).rejects.toThrow(
        /is damaged: a block of \d+ n-grams has 75 document frequencies.*; train the detector again/,
      );
      writeFileSync(path, JSON.stringify({ ...saved, temperature: -1 }));
      await expect(LocalDetector.load({ path })).rejects.toThrow(/was made by another version of Earshot.*temperature/);
      await expect(LocalDetector.load({ path: join(directory, 'absent.json') })).rejects.toThrow(InputError);
      expect(() => detector.save(join(again, 'x.json'))).toThrow(InputError);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('is fixed by its seed', async () => {
    const again = await train();
    expect(again.options).toEqual(detector.options);
    expect(await train(toyThreads({ count: 60, seed: 4 }))).not.toMatchObject({ options: detector.options });
  });

  it('tells four classes apart', async () => {
    const words = { 'non-rumor': 'weather', true: 'confirmed', false: 'hoax', unverified: 'maybe' };
    const threads = Object.entries(words).flatMap(([veracity, word]) =>
      Array.from({ length: 6 }, (_, index) => {
        const texts = [`news ${index} ${word}`, `people ${word} say`];
        return { ...threadOf({ id: `${word}-${index}`, texts }), veracity: veracity as keyof typeof words };
      }),
    );
    const four = await trainLocalDetector({ threads, task: veracityTask, options, seed: 1 });
    for (const [veracity, word] of Object.entries(words)) {
      const judgement = await four.judge(prefixOf(threadOf({ id: 'q', texts: [`today ${word}`] }), 1));
      expect(judgement.label).toBe(veracity);
      const sum = Object.values(judgement.probabilities ?? {}).reduce((total, value) => total + value, 0);
      expect(sum).toBeCloseTo(1, 12);
    }
  });

  it('says how many threads of each label it has when one is missing', async () => {
    const rumors = training.filter((thread) => thread.rumor);
    await expect(train(rumors)).rejects.toThrow(InputError);
    await expect(train(rumors)).rejects.toThrow(/of 30 threads these have one: non-rumor 0, rumor 30\. Give it more/);
    await expect(train(rumors.map((thread) => ({ ...thread, rumor: null })))).rejects.toThrow(/non-rumor 0, rumor 0/);
  });

  it('reads times where it is told to, and counts missing ones as usual', async () => {
    // Rumours are answered sooner, and say nothing else.
    const plain = (threads: readonly Thread[]) =>
      threads.map((thread, index) =>
        timed(
          { ...thread, posts: thread.posts.map((post) => ({ ...post, text: 'news' })) },
          (thread.rumor ? 2 : 40) + index,
        ),
      );
    const timedOptions = { ...options, timing: true };
    const train = (threads: readonly Thread[]) =>
      trainLocalDetector({ threads, task: rumorTask, options: timedOptions, seed: 7 });
    const own = await train(plain(training.slice(0, 40)));
    const [thread] = toyThreads({ count: 1, seed: 5, posts: 6 });
    const rumor = async (given: Thread, length = 6) =>
      (await own.judge(prefixOf(given, length))).probabilities?.rumor ?? Number.NaN;
    const [fast, slow, never] = [timed(thread, 1), timed(thread, 90), thread];
    expect(await rumor(fast)).toBeGreaterThan(0.6);
    // The same thread at other times is read anew.
    expect(await rumor(slow)).toBeLessThan(0.4);
    expect(await rumor(fast, 1)).toBe(await rumor(slow, 1));
    const between = await rumor(never);
    expect(between).toBeLessThan(await rumor(fast));
    expect(between).toBeGreaterThan(await rumor(slow));
    expect(own.inputOf?.(prefixOf(fast, 1))).toEqual([{ text: fast.posts[0].text, time: fast.posts[0].time }]);
    expect(detector.inputOf).toBeUndefined();
    await expect(train(training)).rejects.toThrow(
      /of its 60 training threads have none that differ; give posts a "time"/,
    );
  });

  it('is with times what it is without, and the times on top: a claim alone gets the same label', async () => {
    const threads = training.map((thread, index) => timed(thread, (thread.rumor ? 2 : 40) + index));
    const { model } = await trainLocalDetector({
      threads,
      task: rumorTask,
      options: { ...options, timing: true },
      seed: 7,
    });
    const { timing, calibration, training: facts, ...words } = model;
    const { calibration: calibrationWithout, training: factsWithout, ...without } = detector.model;
    expect(words).toEqual(without);
    expect(timing?.weights).toHaveLength(24);
    // Times say more, the more replies there are.
    expect(calibration.growth).toBeGreaterThan(calibrationWithout.growth);
    // What is said of held-out threads is said with the times.
    expect(facts.heldOutLogLoss).toBeLessThan(factsWithout.heldOutLogLoss);
    expect(facts.heldOut.systems[1]).toEqual(factsWithout.heldOut.systems[1]);
  });

  it('gives the detectors of its folds times of their own', async () => {
    const threads = training.map((thread, index) => timed(thread, (thread.rumor ? 2 : 40) + index));
    const { folds, mean } = await trainCrossFitted({
      threads,
      task: rumorTask,
      options: { ...options, timing: true, folds: 3 },
      seed: 7,
    });
    const weightsOf = ({ model }: LocalDetector) => floatsFromBase64(model.timing?.weights ?? '');
    const own = folds.map(weightsOf);
    expect(new Set(own.map(([first]) => first)).size).toBe(3);
    for (const [index, weight] of weightsOf(mean).entries())
      expect(weight).toBeCloseTo((own[0][index] + own[1][index] + own[2][index]) / 3, 6);
  });

  it('stops when told to, and names a wrong option', async () => {
    const signal = AbortSignal.abort(new Error('interrupted by the user'));
    await expect(trainLocalDetector({ threads: training, task: rumorTask, options, seed: 1, signal })).rejects.toThrow(
      'interrupted by the user',
    );
    await expect(
      trainLocalDetector({ threads: training, task: rumorTask, options: { folds: 1 }, seed: 1 }),
    ).rejects.toThrow(/options are wrong:[\s\S]*folds/);
  });
});

it('is no surer of few threads that a word separates than so few can show', async () => {
  const telling = (index: number, posts: number) =>
    threadOf({
      id: `t${index}`,
      texts: Array.from({ length: posts }, () => (index % 2 === 0 ? 'fake hoax' : 'confirmed official')),
      rumor: index % 2 === 0,
    });
  const few = await trainLocalDetector({
    threads: Array.from({ length: 18 }, (_, index) => telling(index, 4)),
    task: rumorTask,
    seed: 7,
  });
  const judged = await judgeAll(few, [telling(100, 30), telling(101, 30)]);
  for (const { thread, rumor } of judged) {
    const wrong = thread.rumor ? 1 - rumor : rumor;
    // After 18 that were right, 1 in 20 is wrong by the rule of succession.
    expect(wrong).toBeGreaterThan(0.04);
    expect(wrong).toBeLessThan(0.1);
  }
});

describe('the confidence of the local detector', () => {
  const quick = { characterWeights: [1], l2: [1e-2] };
  /** Claims in which one word says which class it is, and is wrong in every fifth. The other words are rare. */
  const rareWords = (seed: number, count: number) => {
    const random = Random.seeded({ seed, purpose: 'rare words' });
    return Array.from({ length: count }, (_, index) => {
      const rumor = index % 2 === 0;
      const telling = (index >> 1) % 5 > 0 === rumor ? 'hoax' : 'official';
      const text = [telling, ...[0, 1, 2, 3].map(() => `word${random.integer(5000)}`)].join(' ');
      return threadOf({ id: `rare-${seed}-${index}`, texts: [text], rumor });
    });
  };
  /** Threads of eight posts, of which the first five say nothing and the others all the same, which is wrong in every tenth. */
  const lateWords = (seed: number, count: number) => {
    const random = Random.seeded({ seed, purpose: 'late words' });
    return Array.from({ length: count }, (_, index) => {
      const rumor = index % 2 === 0;
      const telling = (index >> 1) % 10 > 0 === rumor ? 'hoax' : 'official';
      const texts = Array.from({ length: 8 }, (_, post) => {
        const common = [0, 1, 2].map(() => `word${random.integer(10)}`).join(' ');
        return post < 5 ? common : `${common} ${telling}`;
      });
      return threadOf({ id: `late-${seed}-${index}`, texts, rumor });
    });
  };
  const withoutLengths = ({ model }: LocalDetector) =>
    new LocalDetector({ encoder: null, model: { ...model, calibration: { scale: 1, growth: 0, mostPosts: 1 } } });
  const sureAndRight = async (
    by: LocalDetector,
    { threads, length }: { threads: readonly Thread[]; length: number },
  ) => {
    const judged = await Promise.all(threads.map((thread) => by.judge(prefixOf(thread, length))));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      confidence: mean(judged.map(({ probabilities }) => Math.max(...Object.values(probabilities ?? {})))),
      accuracy: mean(judged.map(({ label }, index) => Number((label === 'rumor') === threads[index].rumor))),
    };
  };

  it('is low while posts say nothing, and its accuracy at the end', async () => {
    const trained = await trainLocalDetector({
      threads: lateWords(1, 300),
      task: rumorTask,
      options: quick,
      seed: 7,
    });
    const threads = lateWords(2, 200);
    const first = await sureAndRight(trained, { threads, length: 1 });
    expect(first.confidence).toBeLessThan(0.55);
    const end = await sureAndRight(trained, { threads, length: 8 });
    expect(end.accuracy).toBeGreaterThan(0.75);
    expect(Math.abs(end.confidence - end.accuracy)).toBeLessThan(0.06);
    // One temperature for all lengths is far too unsure there.
    const plain = await sureAndRight(withoutLengths(trained), { threads, length: 8 });
    expect(plain.accuracy).toBe(end.accuracy);
    expect(plain.confidence).toBeLessThan(end.accuracy - 0.15);
  });

  it('is its accuracy on new threads, whose rare words no training thread has', async () => {
    const trained = await trainLocalDetector({ threads: rareWords(1, 150), task: rumorTask, options: quick, seed: 7 });
    const threads = rareWords(2, 400);
    const { confidence, accuracy } = await sureAndRight(trained, { threads, length: 1 });
    expect(accuracy).toBeGreaterThan(0.75);
    expect(Math.abs(confidence - accuracy)).toBeLessThan(0.06);
    // Rows of the training hold the rare words of all folds, which makes a temperature too sure.
    expect((await sureAndRight(withoutLengths(trained), { threads, length: 1 })).confidence).toBeGreaterThan(0.9);
  });

  it('changes no label, and stays as it is beyond the longest training thread', async () => {
    const threads = toyThreads({ count: 60, seed: 8, posts: 9 });
    const plain = withoutLengths(detector);
    for (const { thread, length, judgement } of await judgeAll(detector, threads))
      expect(judgement.label).toBe((await plain.judge(prefixOf(thread, length))).label);
    expect(detector.model.calibration.mostPosts).toBe(6);
    const odds = async (by: LocalDetector, length: number) => {
      const { probabilities } = await by.judge(prefixOf(threads[0], length));
      return Math.log((probabilities?.rumor ?? 0) / (probabilities?.['non-rumor'] ?? 0));
    };
    const factors = [];
    for (const length of [1, 3, 6, 9]) factors.push((await odds(detector, length)) / (await odds(plain, length)));
    const { scale, growth } = detector.model.calibration;
    for (const [index, posts] of [1, 3, 6, 6].entries()) expect(factors[index]).toBeCloseTo(scale * posts ** growth, 8);
    expect(factors[2]).not.toBeCloseTo(factors[0], 3);
  });
});
