import { describe, expect, it } from 'vitest';
import { createLocalStanceModel } from '../../../../experts/task-models/local/stance.ts';
import { type Example, type StanceItem, stanceClasses } from '../../../../experts/task-models/task-model.ts';
import { createHashingEncoder } from '../../../../src/text/hashing-encoder.ts';

const encoder = createHashingEncoder({ dimensions: 512, characterNgrams: { weight: 0 } });
const label = (name: (typeof stanceClasses)[number]) => stanceClasses.indexOf(name);

function example(options: {
  threadId: string;
  post: string;
  stance: (typeof stanceClasses)[number];
}): Example<StanceItem> {
  const { threadId, post, stance } = options;
  return { item: { threadId, claim: 'the bridge is closed', post }, label: label(stance), explanation: '' };
}

const planted = { support: 'zorblax', deny: 'quimbly', query: 'fortwig', comment: 'mellonk' } as const;

/** Each stance has a word of its own, amid words that all share. */
const examples = Array.from({ length: 80 }, (_, index) => {
  const stance = stanceClasses[index % 4];
  return example({ threadId: `t${index}`, post: `people near bridge ${planted[stance]} number${index % 7}`, stance });
});

const post = (text: string, threadId = 'elsewhere'): StanceItem => ({
  threadId,
  claim: 'the bridge is closed',
  post: text,
});
const distributions = async (model: ReturnType<typeof createLocalStanceModel>, items: readonly StanceItem[]) =>
  (await model.predict(items)).map(({ distribution }) => [...distribution]);

async function stancesOf(texts: readonly string[], options = {}): Promise<string[]> {
  const model = createLocalStanceModel({ encoder, options });
  const predictions = await model.predict(texts.map((text) => post(text)));
  return predictions.map(({ distribution }) => stanceClasses[distribution.indexOf(Math.max(...distribution))]);
}

describe('untrained', () => {
  it.each([
    ['@user Fake.', 'deny'],
    ['this is not true', 'deny'],
    ['stop spreading lies', 'deny'],
    ['not yet confirmed', 'deny'],
    ['That isn’t true!', 'deny'],
    ['Yes, confirmed.', 'support'],
    ['@user exactly', 'support'],
    ['so true', 'support'],
    ['really?', 'query'],
    ['@user @user is this confirmed? any source?', 'query'],
    ['what happened there?', 'query'],
    ['I had lunch near the bridge today', 'comment'],
    ['', 'comment'],
  ])('reads %j as %s', async (text, stance) => {
    expect(await stancesOf([text])).toEqual([stance]);
  });

  it('knows nothing without cues', async () => {
    const model = createLocalStanceModel({ encoder, options: { cues: 'none' } });
    expect(await distributions(model, [post('fake')])).toEqual([[0.25, 0.25, 0.25, 0.25]]);
  });

  it('names the cues as its reason, and says when there is none', async () => {
    const model = createLocalStanceModel({ encoder });
    const [denial, comment] = await model.predict([post('that is not true, a hoax'), post('lunch near the bridge')]);
    expect(denial.explanation.split(', ')).toEqual(expect.arrayContaining(['not true', 'hoax']));
    expect(comment.explanation).toBe('no telling word');
  });
});

it('learns words and names them', async () => {
  const model = createLocalStanceModel({ encoder });
  await model.tune(examples);
  for (const stance of stanceClasses) {
    const [{ distribution, explanation }] = await model.predict([post(`bridge ${planted[stance]} elsewhere`)]);
    expect(stanceClasses[distribution.indexOf(Math.max(...distribution))]).toBe(stance);
    expect(distribution.reduce((sum, probability) => sum + probability)).toBeCloseTo(1, 12);
    expect(explanation.split(', ')[0]).toBe(planted[stance]);
  }
});

it('gives no explanation where none is asked for', async () => {
  const model = createLocalStanceModel({ encoder, options: { explanationWords: 0 } });
  expect((await model.predict([post('fake')]))[0].explanation).toBe('');
});

describe('holding out', () => {
  const flipped = examples.map((own) => (own.item.threadId === 't5' ? { ...own, label: label('support') } : own));
  const own = { ...examples[5].item };

  async function afterTuning(options: { on: typeof examples; folds: number; by: 'tune' | 'pretrain' }) {
    const model = createLocalStanceModel({ encoder, options: { classifier: { folds: options.folds, pretrainL2: 3 } } });
    await model[options.by](options.on);
    return distributions(model, [own, { ...own, threadId: 'elsewhere' }]);
  }

  it.each(['tune', 'pretrain'] as const)('keeps the own label of a thread from its prediction, by %s', async (by) => {
    const [before, elsewhereBefore] = await afterTuning({ on: examples, folds: 3, by });
    const [after, elsewhereAfter] = await afterTuning({ on: flipped, folds: 3, by });
    expect(after).toEqual(before);
    expect(elsewhereAfter).not.toEqual(elsewhereBefore);
  });

  it('keeps it out through pretraining, too, when other threads are tuned on', async () => {
    const predict = async (seeds: typeof examples) => {
      const model = createLocalStanceModel({ encoder, options: { classifier: { pretrainL2: 3 } } });
      await model.pretrain(seeds);
      await model.tune(examples.filter(({ item }) => item.threadId !== 't5').slice(0, 20));
      return distributions(model, [own]);
    };
    expect(await predict(flipped)).toEqual(await predict(examples));
  });

  it('can be switched off', async () => {
    const [before] = await afterTuning({ on: examples, folds: 1, by: 'tune' });
    const [after] = await afterTuning({ on: flipped, folds: 1, by: 'tune' });
    expect(after).not.toEqual(before);
  });
});

describe('tuning', () => {
  const items = [...examples.slice(0, 10).map(({ item }) => item), post('zorblax fake'), post('what?')];

  it('replaces what was tuned before', async () => {
    const twice = createLocalStanceModel({ encoder });
    await twice.tune(examples.slice(40));
    await twice.tune(examples.slice(0, 40));
    const once = createLocalStanceModel({ encoder });
    await once.tune(examples.slice(0, 40));
    expect(await twice.predict(items)).toEqual(await once.predict(items));
  });

  it('on nothing brings the pretrained model back', async () => {
    const model = createLocalStanceModel({ encoder });
    await model.pretrain(examples.slice(0, 20));
    const pretrained = await model.predict(items);
    await model.tune(examples.slice(20));
    expect(await model.predict(items)).not.toEqual(pretrained);
    await model.tune([]);
    expect(await model.predict(items)).toEqual(pretrained);
  });

  it('changes less, the stronger the pull to the pretrained weights', async () => {
    const shift = async (l2: number) => {
      const model = createLocalStanceModel({ encoder, options: { classifier: { l2 } } });
      const [before] = await distributions(model, [post('quimbly')]);
      await model.tune(examples);
      const [after] = await distributions(model, [post('quimbly')]);
      return after[label('deny')] - before[label('deny')];
    };
    expect(await shift(1)).toBeGreaterThan(await shift(10));
    expect(await shift(1e6)).toBeLessThan(1e-3);
  });

  it('pretraining on two stances leaves the others open', async () => {
    const model = createLocalStanceModel({ encoder, options: { classifier: { pretrainL2: 3 } } });
    await model.pretrain(examples.filter(({ label: own }) => own === label('support') || own === label('deny')));
    const [comment, support] = await distributions(model, [post('lunch today'), post('zorblax')]);
    expect(comment[label('comment')]).toBe(Math.max(...comment));
    expect(support[label('support')]).toBeGreaterThan(support[label('deny')]);
  });
});

it('goes on bit for bit from its state', async () => {
  const model = createLocalStanceModel({ encoder });
  await model.pretrain(examples.slice(0, 30));
  await model.tune(examples.slice(20, 60));
  const copy = createLocalStanceModel({ encoder });
  const state = model.state();
  copy.restore({ arrays: state.arrays, json: JSON.parse(JSON.stringify(state.json)) });
  const items = examples.map(({ item }) => item);
  const once = await model.predict(items);
  expect(await copy.predict(items)).toEqual(once);
  for (const part of [model, copy]) await part.tune(examples.slice(50));
  expect(copy.state()).toEqual(model.state());
  expect(await copy.predict(items)).toEqual(await model.predict(items));
  // The state was taken before: tuning must not reach into it.
  copy.restore(state);
  expect(await copy.predict(items)).toEqual(once);
});

it('predicts the same from its caches as without, one by one or together', async () => {
  const model = createLocalStanceModel({ encoder });
  await model.tune(examples.slice(0, 40));
  const items = examples.map(({ item }) => item);
  const together = await model.predict(items);
  const fresh = createLocalStanceModel({ encoder });
  fresh.restore(model.state());
  const apart = [];
  for (const item of [...items].reverse()) apart.unshift(...(await fresh.predict([item])));
  expect(apart).toEqual(together);
  expect(await model.predict(items)).toEqual(together);
});

describe('teaches by its errors', () => {
  const model = createLocalStanceModel({ encoder });

  it('on a state of another shape', () => {
    const other = createLocalStanceModel({ encoder: createHashingEncoder({ dimensions: 64 }) });
    expect(() => model.restore(other.state())).toThrow('restore it into a model with the same encoder and options');
    expect(() => model.restore({ arrays: {}, json: 3 })).toThrow('not the state of a local task model');
  });
});
