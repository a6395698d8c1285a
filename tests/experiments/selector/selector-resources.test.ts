import { expect, it } from 'vitest';
import { withAskingProgress } from '../../../experiments/selector/selector-resources.ts';
import type { AskOnce } from '../../../experts/asking/ask-once.ts';
import type { Judgement } from '../../../experts/detector.ts';
import { Waits } from '../../../experts/llm/waits.ts';
import type { TaskPrediction } from '../../../experts/task-models/task-model.ts';
import { scriptedModel } from '../../trainers/selector/scripted-task-models.ts';

const judgement: Judgement = {
  label: 'deny',
  probabilities: null,
  explanation: '',
  transcript: [],
  usage: { requests: 1, inputTokens: 1, outputTokens: 1 },
};
const prediction: TaskPrediction = { distribution: Float64Array.of(0, 1), explanation: '' };

/** A model that looks up each item so many times, and fails of item 150. */
function asking(samples: number) {
  const shown: [string, number, number][] = [];
  const waits = new Waits();
  const known: AskOnce = async () => judgement;
  const model = withAskingProgress<number>({
    task: 'stances',
    askOnce: known,
    waits,
    onProgress: (stage, done, total) => shown.push([stage, done, total]),
    create: (askOnce) => ({
      ...scriptedModel<number>({ classes: ['support', 'deny'], answer: () => prediction }).model,
      async predict(items) {
        const call = { detector: 'd', version: '1', options: {}, input: '', threadId: 't', prefixLength: 1 };
        for (const item of items) {
          if (item === 150) throw new Error('refused');
          for (let sample = 0; sample < samples; sample++) await askOnce(call, async () => judgement);
        }
        return items.map(() => prediction);
      },
    }),
  });
  return { shown, predict: (count: number) => model.predict([...Array(count).keys()]) };
}

it('shows each answer of a prediction of many items, and its end once', async () => {
  for (const samples of [0, 1, 3]) {
    const { shown, predict } = asking(samples);
    expect(await predict(100)).toHaveLength(100);
    expect(shown.at(-1)).toEqual(['asking for stances', 100, 100]);
    expect(shown.filter(([, done, total]) => done === total)).toHaveLength(1);
    expect(shown.map(([, done]) => done)).toEqual(shown.map(([, done]) => done).toSorted((one, other) => one - other));
    expect(shown).toHaveLength(samples === 0 ? 1 : 100);
  }
});

it('is silent about few items, also after a prediction that failed', async () => {
  const { shown, predict } = asking(1);
  await expect(predict(160)).rejects.toThrow('refused');
  shown.splice(0);
  await predict(99);
  expect(shown).toEqual([]);
});
