import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trialsOf } from '../../../experiments/kinds/experiment-kind.ts';
import { planSweep, type SweepPlan, shortNames } from '../../../experiments/sweep/plan.ts';
import { loadSweepFile } from '../../../experiments/sweep/sweep-file.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, writeExperiment } from '../cli/command-line.ts';
import { planned } from './tiny-sweep.ts';

const alpha = 'agent.imitation.alpha';
const settingsOf = ({ members }: SweepPlan) => members.map(({ point }) => point);

describe('a grid', () => {
  it('has every combination that meets the constraints, with every seed, and what follows from them', async () => {
    const plan = await planned({
      space: { [alpha]: [0.2, 0.8], 'agent.imitation.beta': { from: 0, to: 0.4, steps: 3 } },
      derived: { 'agent.imitation.gamma': '1 - alpha - beta' },
      constraints: ['gamma >= 0', 'alpha + beta > gamma'],
    });
    expect(settingsOf(plan)).toEqual([
      { [alpha]: 0.2, 'agent.imitation.beta': 0.4, 'agent.imitation.gamma': 0.4 },
      { [alpha]: 0.8, 'agent.imitation.beta': 0, 'agent.imitation.gamma': 0.2 },
      // 1 − 0.8 − 0.2 is not quite 0 in floating point, and the weights must not be negative.
      { [alpha]: 0.8, 'agent.imitation.beta': 0.2, 'agent.imitation.gamma': 0 },
    ]);
    expect(trialsOf(plan).map(({ seed }) => seed)).toEqual([1, 2, 1, 2, 1, 2]);
    expect(plan.members[0].trials[1]).toMatchObject({
      label: 'alpha=0.2 beta=0.4 gamma=0.4, seed 2',
      seed: 2,
      config: { agent: { imitation: { alpha: 0.2, beta: 0.4, gamma: 0.4 } } },
    });
  });

  it('replaces an encoder whose name is swept, with its options', async () => {
    const plan = await planned({
      settings: { detector: { encoder: { name: 'hashing', dimensions: 32 } } },
      space: { 'detector.encoder.name': ['hashing', 'universal-sentence-encoder'] },
    });
    const encoders = plan.members.map(({ trials: [{ config }] }) => config.detector);
    expect(encoders).toMatchObject([
      { encoder: { dimensions: 32 } },
      { encoder: { name: 'universal-sentence-encoder' } },
    ]);
    expect(JSON.stringify(encoders[1])).not.toContain('dimensions');
  });

  it('asks for steps where a range has none', async () => {
    await expect(planned({ space: { [alpha]: { from: 0.1, to: 0.9 } } })).rejects.toThrow(
      /space\.agent\.imitation\.alpha is a range, and a grid needs to know how many/,
    );
  });
});

describe('drawn settings', () => {
  it('lie in their ranges, meet the constraints, differ, and are the same for the same seed', async () => {
    const space = {
      [alpha]: { from: 0.3, to: 0.9 },
      'agent.imitation.beta': [0.1, 0.3],
      'agent.imitation.ppo.learningRate': { from: 1e-5, to: 1e-2, scale: 'log' },
      'agent.hidden': { from: 4, to: 8, integer: true },
    };
    const method = { name: 'random', trials: 16, seed: 5 };
    const constraints = ['alpha + beta > 0.7'];
    const settings = settingsOf(await planned({ space, constraints, method }));
    expect(settings).toHaveLength(16);
    expect(new Set(settings.map((each) => JSON.stringify(each))).size).toBe(16);
    for (const own of settings) {
      const [a, b, rate, hidden] = Object.values(own).map(Number);
      expect(a + b).toBeGreaterThan(0.7);
      expect(rate).toBeGreaterThanOrEqual(1e-5);
      expect(rate).toBeLessThanOrEqual(1e-2);
      expect([4, 5, 6, 7, 8]).toContain(hidden);
    }
    expect(settings.filter((own) => Number(own['agent.imitation.ppo.learningRate']) < 1e-3).length).toBeGreaterThan(8);
    expect(settingsOf(await planned({ space, constraints, method }))).toEqual(settings);
    expect(settingsOf(await planned({ space, constraints, method: { ...method, seed: 6 } }))).not.toEqual(settings);
  });

  it('says so where the constraints leave too few', async () => {
    const method = { name: 'random', trials: 4 };
    await expect(planned({ space: { [alpha]: [0.6, 0.7] }, method })).rejects.toThrow(
      /only 2 different settings were found .* method\.trials asks for 4/,
    );
    const none = { ...method, trials: 10_000 };
    await expect(planned({ constraints: ['alpha > 1'], method: none })).rejects.toThrow(/only 0 different settings/);
  });
});

describe('a setting’s name', () => {
  it('is of its configuration: the same from file to file, another for every change, and not of names', async () => {
    const ids = async (...of: Parameters<typeof planned>) => (await planned(...of)).members.map(({ name }) => name);
    const own = await ids({});
    expect(own[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(new Set(own).size).toBe(own.length);
    expect(await ids({ name: 'other', description: 'other', seeds: [3] })).toEqual(own);
    expect(await ids({ space: { [alpha]: [0.6, 0.7] } })).toEqual(own.slice(0, 2));
    const changed = await ids({}, [{ agent: { iterations: 5 } }]);
    expect(changed.filter((id) => own.includes(id))).toEqual([]);
  });
});

describe('a sweep file', () => {
  it('is refused with the place, the value and what to do', async () => {
    await expect(planned({ spaces: {} })).rejects.toThrow(/spaces/);
    await expect(planned({ experiment: 5 })).rejects.toThrow(/experiment: name an experiment file, or write .* 5\)/);
    await expect(planned({ space: { seeds: [1, 2] } })).rejects.toThrow(/every setting is run with every seed/);
    await expect(planned({ space: { 'agent.imitation.alhpa': [1] } })).rejects.toThrow(/alhpa.*alpha/s);
    await expect(planned({ space: { [alpha]: [0, 0.6] } })).rejects.toThrow(
      /with alpha=0 .*alpha \+ beta must exceed gamma/s,
    );
    await expect(planned({ derived: { [alpha]: '0.5' } })).rejects.toThrow(/both swept and derived/);
    const task = { 'agent.task': [{ delayCost: 0.1 }, { delayCost: 0.2 }], 'agent.task.learningRate': [0.1, 0.2] };
    await expect(planned({ space: task })).rejects.toThrow(
      /agent\.task: holds agent\.task\.learningRate, so that one would replace the other; sweep agent\.task\.learningRate/,
    );
    await expect(planned({ space: Object.fromEntries(Object.entries(task).reverse()) })).rejects.toThrow(
      /agent\.task: holds agent\.task\.learningRate/,
    );
    const gamma = { space: { agent: [{ hidden: 4 }] }, derived: { 'agent.imitation.gamma': '0.1' } };
    await expect(planned(gamma)).rejects.toThrow(/agent: holds agent\.imitation\.gamma/);
    await expect(planned({ constraints: ['delta > 0'] })).rejects.toThrow(/delta is not there/);
    await expect(planned({ objective: { where: ['f1 > 0.5'] } })).rejects.toThrow(
      /names f1, which is no metric; there are macroF1, /,
    );
    await expect(planned({ constraints: ['toString > 0'] })).rejects.toThrow(/toString is not there/);
    await expect(planned({ space: { constructor: [1] } })).rejects.toThrow(/constructor: unknown key/);
    await expect(planned({ constraints: ['alpha'] })).rejects.toThrow(
      /constraints: "alpha" comes to 0\.6, and is no condition; compare something/,
    );
    await expect(planned({ objective: { where: ['er - 0.3'] } })).rejects.toThrow(
      /objective\.where: "er - 0\.3" comes to 0\.7, and is no condition/,
    );
    await expect(planned({ seeds: [1, 1, 2] })).rejects.toThrow(/seeds: a seed stands there twice \(found \[1,1,2\]\)/);
    await expect(planned({ pictures: { heatMap: [alpha, 'agent.hidden'] } })).rejects.toThrow(
      /heatMap: names agent\.hidden, which is not swept/,
    );
    await expect(planned({ variant: 'paper' })).rejects.toThrow(/the experiment has no variants/);
  });

  it('is refused without a development part', async () => {
    await expect(planned({}, [{ split: { development: 0 } }])).rejects.toThrow(
      /split\.development is 0; give it threads/,
    );
  });
});

it('runs by the command train, which sweep is another name of', async () => {
  const cwd = temporaryFolder();
  writeExperiment(join(cwd, 'tiny.yaml'));
  const { out } = await earshot(['sweep', 'tiny.yaml', '--dry-run'], { cwd });
  expect(out).toBe('agent/seed-1  agent, seed 1\n1 trial\n');
});

describe('recipes', () => {
  it.each([
    ['ratio-pareto', 9, 5],
    ['ratio-triangle', 45, 3],
    ['shots-sweep', 15, 5],
    ['selector-sweep', 12, 3],
  ])('%s has its settings and seeds, and is named after its file', async (name, settings, seeds) => {
    const path = join(import.meta.dirname, `../../../experiments/recipes/${name}.yaml`);
    const plan = await planSweep(await loadSweepFile(path, { overrides: [] }), { runs: 'runs' });
    expect([plan.name, plan.members.length, plan.members[0].trials.length]).toEqual([name, settings, seeds]);
    expect(plan.description).not.toBe('');
  });
});

it('shortens paths as far as they stay apart', () => {
  expect([...shortNames(['agent.ppo.clip', 'agent.hidden', 'state.ppo.clip']).values()]).toEqual([
    'agent.ppo.clip',
    'hidden',
    'state.ppo.clip',
  ]);
});
