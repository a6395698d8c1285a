import { expect, it } from 'vitest';
import { eProcess } from '../../../src/metrics/e-process.ts';
import { Random } from '../../../src/tensor/random.ts';

function after(losses: readonly boolean[], share: number) {
  const process = eProcess(share);
  for (const isLoss of losses) process.add(isLoss);
  return process;
}
const places = (count: number) => [...Array(count).keys()];

it('is 1 before the first item, and its mean over the next item is no larger where the share is kept', () => {
  expect(eProcess(0.05).value()).toBe(1);
  // The money that waits moves to the next team before items 51, 101, …, and no team is given up yet.
  for (const items of [0, 7, 50, 120, 1000])
    for (const share of [0.05, 0.3]) {
      const past = places(items).map((place) => place % 9 === 0);
      const now = after(past, share).value();
      const [lost, won] = [true, false].map((isLoss) => after([...past, isLoss], share).value());
      expect((share * lost + (1 - share) * won) / now).toBeCloseTo(1, 12);
      expect(0.8 * share * lost + (1 - 0.8 * share) * won).toBeLessThan(now);
    }
});

it('is the mean of r^losses / (1 − m + m r)^items, of the money that is staked from the first item on', () => {
  const byHand = [1.5, 2, 3, 5, 9].map((r) => r ** 2 / (0.9 + 0.1 * r) ** 7);
  const { value } = after([true, false, false, true, false, false, false], 0.1);
  expect(value()).toBeCloseTo(0.2 + (0.8 * byHand.reduce((a, b) => a + b)) / 5, 12);
});

it('sees a change after a long quiet past, and never gains by giving up a team', () => {
  const evidence = after(
    places(5000).map((place) => place % 50 === 0),
    0.05,
  );
  expect(evidence.value()).toBeLessThan(1);
  const random = Random.seeded({ seed: 1, purpose: 'change' });
  let items = 0;
  while (evidence.value() < 20) {
    evidence.add(random.uniform() < 0.15);
    items++;
  }
  expect(items).toBeLessThan(400);
});
