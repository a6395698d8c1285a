import { describe, expect, it } from 'vitest';
import { generalizedAdvantages } from '../../trainers/gae.ts';

const rewards = Float32Array.of(1, 2, 4);
const values = Float32Array.of(0.5, 1, 3);
const goesOn = Uint8Array.of(0, 0, 0);

describe('generalizedAdvantages', () => {
  it('is the temporal difference at λ = 0', () => {
    const { advantages } = generalizedAdvantages({
      rewards,
      values,
      ends: goesOn,
      bootstrapValue: 8,
      discount: 0.5,
      lambda: 0,
    });
    // 1 + ½·1 − ½; 2 + ½·3 − 1; 4 + ½·8 − 3.
    expect([...advantages]).toEqual([1, 2.5, 5]);
  });

  it('is the discounted return less the value at λ = 1', () => {
    const { advantages, returns } = generalizedAdvantages({
      rewards,
      values,
      ends: goesOn,
      bootstrapValue: 8,
      discount: 0.5,
      lambda: 1,
    });
    // Backwards: 4 + ½·8 = 8; 2 + ½·8 = 6; 1 + ½·6 = 4.
    expect([...returns]).toEqual([4, 6, 8]);
    expect([...advantages]).toEqual([3.5, 5, 5]);
  });

  it('weighs later differences by γλ between the two', () => {
    const { advantages } = generalizedAdvantages({
      rewards,
      values,
      ends: goesOn,
      bootstrapValue: 8,
      discount: 0.5,
      lambda: 0.5,
    });
    // δ = 1, 2.5, 5; γλ = ¼.
    expect([...advantages]).toEqual([1 + (2.5 + 5 / 4) / 4, 2.5 + 5 / 4, 5]);
  });

  it('lets nothing through the end of an episode', () => {
    const input = { rewards, values, ends: Uint8Array.of(0, 1, 0), bootstrapValue: 8, discount: 0.5, lambda: 1 };
    const { returns } = generalizedAdvantages(input);
    // 1 + ½·2; 2 alone; 4 + ½·8.
    expect([...returns]).toEqual([2, 2, 8]);
    const richer = generalizedAdvantages({ ...input, rewards: Float32Array.of(1, 2, 400), bootstrapValue: 800 });
    expect([...richer.returns.subarray(0, 2)]).toEqual([2, 2]);
  });

  it('ignores the bootstrap value where the last step ended its episode', () => {
    const ends = Uint8Array.of(0, 0, 1);
    const of = (bootstrapValue: number) =>
      generalizedAdvantages({ rewards, values, ends, bootstrapValue, discount: 0.5, lambda: 0.9 });
    expect(of(1000)).toEqual(of(0));
    expect(of(0).advantages[2]).toBe(1);
  });

  it('takes no steps at all', () => {
    const empty = new Float32Array(0);
    const nothing = generalizedAdvantages({
      rewards: empty,
      values: empty,
      ends: new Uint8Array(0),
      bootstrapValue: 1,
      discount: 0.9,
      lambda: 0.9,
    });
    expect(nothing.advantages).toHaveLength(0);
  });
});
