import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Meeting } from '../../../../src/tensor/graph/meeting.ts';

interface Call {
  readonly key: string;
  readonly value: number;
}

/** Doubles, and notes which values ran at once. */
function doubling() {
  const runs: number[][] = [];
  const meeting = new Meeting<Call, number>({
    keyOf: ({ key }) => key,
    run(calls) {
      runs.push(calls.map(({ value }) => value));
      if (calls.some(({ value }) => value < 0)) throw new Error('a value below 0');
      return calls.map(({ value }) => 2 * value);
    },
  });
  return { meeting, runs };
}

it('runs the calls of all loops at once, whatever else they wait for, in the order of the loops', async () => {
  const { meeting, runs } = doubling();
  const results = await meeting.together(
    [3, 1, 2].map((start) => async () => {
      let value = start;
      for (let step = 0; step < 2; step++) {
        for (let turn = 0; turn < start; turn++) await nextTurn();
        value = await meeting.call({ key: 'double', value });
      }
      return value;
    }),
  );
  expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual([12, 4, 8]);
  expect(runs).toEqual([
    [3, 1, 2],
    [6, 2, 4],
  ]);
});

it('waits no more for loops that ended or failed', async () => {
  const { meeting, runs } = doubling();
  const results = await meeting.together([
    async () => 0,
    async () => {
      await meeting.call({ key: 'double', value: 1 });
      throw new Error('this loop fails');
    },
    async () => {
      await meeting.call({ key: 'double', value: 2 });
      return meeting.call({ key: 'double', value: 5 });
    },
  ]);
  expect(runs).toEqual([[1, 2], [5]]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('keeps calls of other keys apart, and failures to those that they concern', async () => {
  const { meeting, runs } = doubling();
  const results = await meeting.together(
    [1, -1, 2].map((value) => () => meeting.call({ key: value === 2 ? 'other' : 'double', value })),
  );
  expect(runs).toEqual([[1, -1], [2]]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

it('knows which code is a loop, also of groups side by side, and runs a call outside of them at once', async () => {
  const { meeting, runs } = doubling();
  const group = (values: number[]) =>
    meeting.together(
      values.map((value) => async () => {
        await nextTurn();
        return meeting.call({ key: 'double', value });
      }),
    );
  await Promise.all([group([1, 2]), group([3, 4])]);
  expect(await meeting.call({ key: 'double', value: 5 })).toBe(10);
  expect(runs).toEqual([[1, 2], [3, 4], [5]]);
});
