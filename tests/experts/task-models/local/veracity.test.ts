import { describe, expect, it } from 'vitest';
import { createLocalVeracityModel } from '../../../../experts/task-models/local/veracity.ts';
import { type Example, type VeracityItem, veracityClasses } from '../../../../experts/task-models/task-model.ts';
import { createHashingEncoder } from '../../../../src/text/hashing-encoder.ts';

const encoder = createHashingEncoder({ dimensions: 512, characterNgrams: { weight: 0 } });
const planted = ['grundle', 'harpwise', 'snoblick', 'wendrum'];
const denied = Float64Array.of(0.05, 0.85, 0.05, 0.05);
const supported = Float64Array.of(0.85, 0.05, 0.05, 0.05);

/** Of each veracity the posts, not the claims, have a word of their own. */
const examples = Array.from({ length: 60 }, (_, index): Example<VeracityItem> => {
  const label = index % 4;
  const posts = Array.from({ length: index % 5 }, (_, reply) => ({
    text: `${planted[label]} reply ${reply}`,
    stance: null,
  }));
  return {
    item: { threadId: `c${index}`, claim: `claim about town number${index % 3}`, posts },
    label,
    explanation: '',
  };
});
const items = examples.map(({ item }) => item);
const best = (distribution: Float64Array) => distribution.indexOf(Math.max(...distribution));

async function trained(): Promise<ReturnType<typeof createLocalVeracityModel>> {
  const model = createLocalVeracityModel({ encoder });
  await model.pretrain(examples);
  return model;
}

it('knows nothing untrained', async () => {
  const [{ distribution, explanation }] = await createLocalVeracityModel({ encoder }).predict([items[0]]);
  expect([...distribution]).toEqual([0.25, 0.25, 0.25, 0.25]);
  expect(explanation).toBe('no telling word');
});

it('learns from posts and names their words', async () => {
  const model = await trained();
  for (const [label, word] of planted.entries()) {
    const posts = [
      { text: `some ${word} thing`, stance: null },
      { text: `and ${word} again`, stance: null },
    ];
    const [prediction] = await model.predict([{ threadId: 'new', claim: 'claim about town', posts }]);
    expect(veracityClasses[best(prediction.distribution)]).toBe(veracityClasses[label]);
    expect(prediction.explanation.split(', ')[0]).toBe(word);
  }
});

it('predicts claims without posts', async () => {
  const [{ distribution }] = await (await trained()).predict([{ threadId: 'new', claim: 'claim', posts: [] }]);
  expect(distribution.reduce((sum, probability) => sum + probability)).toBeCloseTo(1, 12);
});

describe('stances', () => {
  const withStance = (stance: Float64Array | null): VeracityItem => ({
    threadId: 'new',
    claim: 'claim',
    posts: [{ text: 'reply', stance }],
  });
  const stanced = Array.from({ length: 40 }, (_, index): Example<VeracityItem> => {
    const stance = index % 2 === 0 ? supported : denied;
    return { item: { ...withStance(stance), threadId: `s${index}` }, label: index % 2 === 0 ? 1 : 2, explanation: '' };
  });

  it('tell claims apart whose texts are the same', async () => {
    const model = createLocalVeracityModel({ encoder });
    await model.tune(stanced);
    const predictions = await model.predict([withStance(supported), withStance(denied)]);
    expect(predictions.map(({ distribution }) => veracityClasses[best(distribution)])).toEqual(['true', 'false']);
  });

  it('that are unknown count as evenly divided', async () => {
    const model = createLocalVeracityModel({ encoder });
    await model.tune(stanced);
    const [unknown, even] = await model.predict([withStance(null), withStance(new Float64Array(4).fill(0.25))]);
    expect(unknown).toEqual(even);
  });
});

it('does not repeat the labels of the claims it was pretrained on', async () => {
  const predict = async (label: number) => {
    const model = createLocalVeracityModel({ encoder });
    await model.pretrain(examples.map((own, index) => (index === 7 ? { ...own, label } : own)));
    return model.predict([items[7], { ...items[7], threadId: 'elsewhere' }]);
  };
  const [before, elsewhereBefore] = await predict(3);
  const [after, elsewhereAfter] = await predict(0);
  expect(after).toEqual(before);
  expect(elsewhereAfter).not.toEqual(elsewhereBefore);
});

it('predicts a claim with growing posts the same as in one call, and goes on bit for bit from its state', async () => {
  const model = await trained();
  await model.tune(examples.slice(0, 30));
  const growing = Array.from(
    { length: 9 },
    (_, count): VeracityItem => ({
      threadId: 'c3',
      claim: 'claim about town',
      posts: Array.from({ length: count }, (_, reply) => ({ text: `${planted[reply % 4]} ${reply}`, stance: denied })),
    }),
  );
  const copy = createLocalVeracityModel({ encoder });
  copy.restore(model.state());
  const apart = [];
  for (const item of growing) apart.push(...(await model.predict([item])));
  expect(await copy.predict(growing)).toEqual(apart);
  for (const part of [model, copy]) await part.tune(examples.slice(30));
  expect(copy.state()).toEqual(model.state());
});
