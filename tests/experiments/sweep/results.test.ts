import { describe, expect, it } from 'vitest';
import { leaderOf } from '../../../experiments/sweep/leader.ts';
import type { SweepPlan } from '../../../experiments/sweep/plan.ts';
import { seedInterval } from '../../../experiments/sweep/seed-interval.ts';
import { sensitivities } from '../../../experiments/sweep/sensitivity.ts';
import { trialsCsv } from '../../../experiments/sweep/sweep-results.ts';
import {
  frontPoints,
  objectiveOf,
  summarizeSettings,
  type TrialRow,
  whereTrained,
} from '../../../experiments/sweep/trial-rows.ts';
import { planned as plannedSweep } from './tiny-sweep.ts';

const space = { 'agent.imitation.alpha': [0.6, 0.8], 'agent.hidden': [4, 8] };

const planned = (parts: Record<string, unknown> = {}) => plannedSweep({ space, ...parts });

/** Rows of made-up scores: `scoresOf` a setting's place in the plan and a seed. */
function rowsOf(
  plan: SweepPlan,
  scoresOf: (place: number, seed: number) => { macroF1: number; er: number } | null,
): TrialRow[] {
  return plan.members.flatMap((setting, place) =>
    setting.trials.map((trial): TrialRow => {
      const values = scoresOf(place, trial.seed);
      if (values === null)
        return {
          trial,
          setting,
          status: 'failed',
          systems: [],
          objective: null,
          message: 'a "b",\nc',
          trainedOn: null,
        };
      const systems = [{ name: 'stop agent', role: 'learnt' as const, values: { ...values, queriesPerThread: 1 } }];
      return {
        trial,
        setting,
        status: 'finished',
        systems,
        objective: values.macroF1,
        message: null,
        trainedOn: 'wasm',
      };
    }),
  );
}

describe('the leading setting', () => {
  it('is the best on average of those that meet the conditions and failed with no seed', async () => {
    const plan = await planned({ objective: { where: ['er <= 0.5'] } });
    // The first is best but too late, the second better than the third but for a failed seed.
    const rows = rowsOf(plan, (place, seed) => {
      if (place === 1 && seed === 2) return null;
      return { macroF1: [0.9, 0.8, 0.6, 0.5 + 0.002 * seed][place] + 0.02 * seed, er: place === 0 ? 0.7 : 0.3 };
    });
    const settings = summarizeSettings(plan, rows);
    const chosen = leaderOf(plan, settings);
    expect(chosen?.setting).toBe(settings[2]);
    expect(chosen?.why.join(' ')).toMatch(
      /It has the highest macroF1 .* 0\.630 .* of 2 settings\. 2 of 3 settings meet er <= 0\.5/,
    );
    expect(chosen?.why.join(' ')).toContain('is 0.097 below (paired by seed, 95% interval 0.084 to 0.110).');
    expect(chosen).toMatchObject({ isToldApart: true, conclusion: `${settings[2].label} is recommended` });
  });

  it('is not recommended where the seeds do not tell it from all others; how many more might is said', async () => {
    const plan = await planned({ seeds: [1, 2, 3] });
    // Above the second by 0.04 ± 0.03: 2.6 times too wide for three seeds. Far above the two others.
    const own = [0.84, 0.8, 0.76];
    const second = [0.77, 0.76, 0.75];
    const settings = summarizeSettings(
      plan,
      rowsOf(plan, (place, seed) => ({
        macroF1: [own, second, [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]][place][seed - 1],
        er: 0,
      })),
    );
    const leader = leaderOf(plan, settings);
    expect(leader?.setting).toBe(settings[0]);
    expect(leader?.isToldApart).toBe(false);
    // Student's t: the half width is 4.303 · 0.03 / √3 = 0.0745, and (0.0745 / 0.04)² · 3 = 10.4.
    expect(leader?.conclusion).toBe(
      `no setting is recommended, because 3 seeds do not tell ${settings[0].label} from ${settings[1].label}; about 8 more seeds would if the differences stay as they are`,
    );
  });

  it('is not recommended with one seed, nor where all are the same, and is none where nothing is complete', async () => {
    const conclusionOf = async (seeds: number[], macroF1: (place: number) => number | null) => {
      const plan = await planned({ seeds });
      const rows = rowsOf(plan, (place) => {
        const value = macroF1(place);
        return value === null ? null : { macroF1: value, er: 0 };
      });
      return leaderOf(plan, summarizeSettings(plan, rows))?.conclusion ?? null;
    };
    expect(await conclusionOf([1], (place) => place / 10)).toBe(
      'no setting is recommended, because one seed tells no setting from another; give at least three',
    );
    expect(await conclusionOf([1, 2], () => 0.5)).toMatch(
      /because with each of 2 seeds the difference between .* and .* is the same, so nothing tells how much it varies; give more/,
    );
    expect(await conclusionOf([1, 2], () => null)).toBeNull();
  });

  it('has no interval, and says why, where every seed gives the same number', async () => {
    const plan = await planned({ seeds: [1, 2] });
    const settings = summarizeSettings(
      plan,
      rowsOf(plan, (place) => ({ macroF1: place === 0 ? 1 : 5 / 6, er: 0.3 })),
    );
    expect(settings[0].objective).toEqual({ mean: 1, low: null, high: null, seeds: 2 });
    const leader = leaderOf(plan, settings);
    expect(leader?.isToldApart).toBe(false);
    expect(leader?.why[0]).toContain('part: 1.000, the same with each of 2 seeds, which leaves no interval, of');
  });

  it('has intervals that end at what its metrics can be', async () => {
    const plan = await planned({ seeds: [1, 2] });
    const [first] = summarizeSettings(
      plan,
      rowsOf(plan, (_, seed) => ({ macroF1: seed === 1 ? 0.9 : 1, er: seed === 1 ? 0 : 0.1 })),
    );
    expect(first.objective).toMatchObject({ mean: 0.95, high: 1 });
    expect(first.values.er).toMatchObject({ mean: 0.05, low: 0 });
  });
});

it('says where trials were trained, and that different backends do not mix', async () => {
  const plan = await planned();
  const rows = rowsOf(plan, (place) => (place === 3 ? null : { macroF1: 0.5, er: 0.5 }));
  expect(whereTrained(rows)).toBe('Trained on wasm');
  const mixed = rows.map((row, index) => (index < 2 ? { ...row, trainedOn: 'onnx (4 threads)' } : row));
  expect(whereTrained(mixed)).toBe(
    'Trained on different backends or processors, whose last digits may differ: 2 on onnx (4 threads), 4 on wasm',
  );
  expect(whereTrained([])).toBeNull();
});

it('has no objective where it divides by 0', async () => {
  const plan = await planned({ objective: { maximise: 'macroF1 / delayPosts' } });
  const objective = objectiveOf(plan);
  expect(objective({ macroF1: 0.5, delayPosts: 2 })).toBe(0.25);
  expect([objective({ macroF1: 0.5, delayPosts: 0 }), objective({ macroF1: 0, delayPosts: 0 })]).toEqual([null, null]);
});

it('puts settings and baselines on one front, with queries as a third aim', async () => {
  const plan = await planned();
  const points: [number, number][] = [
    [0.8, 0.5],
    [0.7, 0.2],
    [0.7, 0.3],
    [0.6, 0.6],
  ];
  const settings = summarizeSettings(
    plan,
    rowsOf(plan, (place) => ({ macroF1: points[place][0], er: points[place][1] })),
  );
  const single = (macroF1: number, er: number, queriesPerThread: number) => ({
    macroF1: seedInterval([macroF1]),
    er: seedInterval([er]),
    queriesPerThread: seedInterval([queriesPerThread]),
  });
  const front = frontPoints(settings, [
    { name: 'asks often', role: 'baseline', values: single(0.9, 0.4, 9) },
    { name: 'sees labels', role: 'oracle', values: single(1, 0, 1) },
  ]);
  expect(front.map(({ isOnFront }) => isOnFront)).toEqual([false, true, false, false, true]);
});

it('tells which option the objective depends on', async () => {
  const plan = await planned();
  // Settings are (0.6, 4), (0.6, 8), (0.8, 4), (0.8, 8): only α matters.
  const [alpha, hidden] = sensitivities(
    plan,
    rowsOf(plan, (place) => ({ macroF1: place < 2 ? 0.4 : 0.8, er: 0.5 })),
  );
  expect(alpha).toMatchObject({ spread: 0.4, explained: 1 });
  expect(hidden.spread).toBeCloseTo(0, 12);
  expect(hidden.explained).toBeCloseTo(0, 12);
});

it('gives the interval of Student’s t over seeds', () => {
  const { mean, low, high } = seedInterval([1, 2, 3, 4, 5]);
  // scipy.stats.t.interval(0.95, 4, loc=3, scale=sem([1, 2, 3, 4, 5]))
  expect(mean).toBe(3);
  expect([low, high].map((bound) => bound?.toFixed(3))).toEqual(['1.037', '4.963']);
  expect(seedInterval([0.5])).toEqual({ mean: 0.5, low: null, high: null, seeds: 1 });
  // 40 degrees of freedom are beyond the table: t is 2.0211.
  const many = seedInterval(Array.from({ length: 41 }, (_, index) => index));
  expect(((many.high ?? 0) - many.mean) / (Math.sqrt(143.5) / Math.sqrt(41))).toBeCloseTo(2.0211, 2);
});

it('quotes what CSV would misread', async () => {
  const plan = await planned();
  const [heading, ...lines] = trialsCsv(
    plan,
    rowsOf(plan, () => null),
  ).split('\n');
  expect(heading.split(',').slice(0, 6)).toEqual([
    'trial',
    'member',
    'seed',
    'status',
    'agent.imitation.alpha',
    'agent.hidden',
  ]);
  expect(`${lines[0]}\n${lines[1]}`).toMatch(/,1,failed,0\.6,4,,.*,"a ""b"",\nc"$/s);
});
