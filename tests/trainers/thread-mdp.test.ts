import { describe, expect, it } from 'vitest';
import { Random } from '../../src/tensor/random.ts';
import { actionValues, visitProbabilities, withFinalStops } from '../../trainers/thread-mdp.ts';

const steps = 5;
const mdps = [
  { title: 'goes on after a stop', steps, goesOn: true, states: 9 },
  { title: 'ends with the stop', steps, goesOn: false, states: 5 },
  { title: 'has one step', steps: 1, goesOn: true, states: 1 },
];

/** Every sequence of actions with its probability, the states it visits and its discounted return from each of them. */
function enumerated(
  mdp: { steps: number; goesOn: boolean },
  { stop, rewards, discount }: { stop: Float64Array; rewards: Float64Array; discount: number },
) {
  const visits = new Float64Array(stop.length);
  const walk = (step: number, previous: number, probability: number): number => {
    const state = !mdp.goesOn || step === 0 ? step : 2 * step - 1 + previous;
    visits[state] += probability;
    let value = 0;
    for (const action of [0, 1]) {
      const share = action === 1 ? stop[state] : 1 - stop[state];
      const goesOn = step + 1 < mdp.steps && (mdp.goesOn || action === 0);
      const ahead = goesOn ? walk(step + 1, action, probability * share) : 0;
      value += share * (rewards[2 * state + action] + discount * ahead);
    }
    return value;
  };
  return { value: walk(0, 0, 1), visits };
}

it('a final stop is stop in every state after one, and nowhere else', () => {
  const stop = new Float64Array(5).fill(0.25);
  expect([...withFinalStops({ steps: [3], goesOn: true }, stop)]).toEqual([0.25, 0.25, 1, 0.25, 1]);
  expect([...withFinalStops({ steps: [5], goesOn: false }, stop)]).toEqual([...stop]);
});

it('threads stand one after another', () => {
  const both = { steps: [2, 3], goesOn: true };
  expect([...visitProbabilities(both, new Float64Array(8).fill(0.5))]).toEqual([1, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 0.5]);
  const rewards = Float64Array.from({ length: 16 }, (_, pair) => Number(pair === 1) + 2 * Number(pair === 7));
  const stopProbability = new Float64Array(8).fill(1);
  const { values } = actionValues(both, { stopProbability, rewards, discount: 1 });
  expect([values[0], values[3]]).toEqual([1, 2]);
});

describe.each(mdps)('a mdp that $title', ({ steps, goesOn, states }) => {
  const mdp = { steps: [steps], goesOn };
  const random = Random.seeded({ seed: 1, purpose: 'mdps' });
  const stop = Float64Array.from({ length: states }, () => random.uniform());
  const rewards = Float64Array.from({ length: 2 * stop.length }, () => random.normal());
  const discount = 0.9;
  const values = actionValues(mdp, { stopProbability: stop, rewards, discount });

  it('has the visits and the value of all its action sequences', () => {
    const expected = enumerated({ steps, goesOn }, { stop, rewards, discount });
    const visits = visitProbabilities(mdp, stop);
    for (const [state, visit] of visits.entries()) expect(visit).toBeCloseTo(expected.visits[state], 12);
    expect(values.values[0]).toBeCloseTo(expected.value, 12);
  });

  it('has the same return from either end: visits times rewards, without discount', () => {
    const undiscounted = actionValues(mdp, { stopProbability: stop, rewards, discount: 1 });
    const visits = visitProbabilities(mdp, stop);
    const total = visits.reduce(
      (sum, visit, state) =>
        sum + visit * (stop[state] * rewards[2 * state + 1] + (1 - stop[state]) * rewards[2 * state]),
      0,
    );
    expect(undiscounted.values[0]).toBeCloseTo(total, 12);
  });

  it('has advantages of mean 0 in every state', () => {
    for (const [state, p] of stop.entries())
      expect(p * values.ofStopping[state] + (1 - p) * values.ofContinuing[state]).toBeCloseTo(values.values[state], 12);
  });
});
