import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadVariants } from '../../../experiments/config/experiment-file.ts';
import type { PlainObject } from '../../../experiments/config/overrides.ts';
import { resolveDetectorsExperiment } from '../../../experiments/detectors/experiment.ts';
import { trialsOf } from '../../../experiments/kinds/experiment-kind.ts';
import { openExperiment } from '../../../experiments/runner/open-experiment.ts';
import { experimentSchema, resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const recipes = join(import.meta.dirname, '../../../experiments/recipes');

function load(yaml: string, overrides: readonly PlainObject[] = []) {
  const path = join(temporaryFolder({ 'my.yaml': yaml }), 'my.yaml');
  return loadVariants({ path, overrides, resolve: resolveExperiment });
}

describe('recipes', () => {
  const isSweep = (name: string) => readFileSync(join(recipes, name), 'utf8').includes('\nkind: sweep\n');
  const names = readdirSync(recipes).filter((name) => name.endsWith('.yaml') && !isSweep(name));

  it.each(names)('%s is a valid experiment, named after its file', async (name) => {
    const experiment = await openExperiment({ path: join(recipes, name), overrides: [], runs: 'runs' });
    expect(`${experiment.name}.yaml`).toBe(name);
    expect(experiment.description).not.toBe('');
    const directories = trialsOf(experiment).map(({ directory }) => directory);
    expect(new Set(directories).size).toBe(directories.length);
  });

  it('eard-paper has the numbers of EARD’s §5.1.3 and Table 3', async () => {
    const path = join(recipes, 'eard-paper.yaml');
    const { variants } = await loadVariants({ path, overrides: [], resolve: resolveExperiment });
    const [{ seeds, split, agent, evaluation }, bertweet] = variants.map(({ experiment }) => experiment);
    const { imitation } = agent;
    const { ppo, discriminator } = imitation;
    expect(bertweet).toMatchObject({ agent, encoder: { name: 'transformers', model: './models/bertweet-base' } });
    expect([seeds.length, split.demonstrations, split.environment, split.stratify]).toEqual([5, 50, 100, false]);
    // §5.1.2: the first post, and the posts of so many hours.
    expect(evaluation.firstPosts[0]).toBe(1);
    expect(evaluation.hours).toEqual(expect.arrayContaining([1, 6, 12, 24, 36]));
    expect([imitation.alpha, imitation.beta, imitation.gamma]).toEqual([0.7, 0.15, 0.15]);
    expect([ppo.stepsPerIteration, ppo.stepsPerIteration * agent.iterations]).toEqual([200, 200_000]);
    expect([agent.hidden, ppo.epochs, discriminator.epochs, discriminator.batchSize]).toEqual([64, 4, 5, 64]);
    expect(ppo.stepsPerIteration / ppo.minibatches).toBe(4);
    expect([ppo.discount, ppo.gaeLambda, ppo.learningRate]).toEqual([0.99, 0.97, 3e-4]);
    expect([ppo.entropyCoefficient, ppo.clip]).toEqual([0.01, 0.1]);
    // Eq. 3, 5 and 6, and line 3 of Algorithm 1, without what the authors' code adds.
    expect(imitation).toMatchObject({ misleading: 'subtract', reward: 'minus-log-d', rewardScale: 'none' });
    expect(ppo).toMatchObject({ advantages: 'none', valueLoss: 'squared' });
    expect(discriminator).toMatchObject({ penalty: 0, warmupIterations: 0 });
  });
});

describe('an experiment file', () => {
  it('tells its kind, and an unknown one is refused', async () => {
    const path = join(temporaryFolder({ 'my.yaml': 'kind: selctor\nname: x' }), 'my.yaml');
    await expect(openExperiment({ path, overrides: [], runs: 'runs' })).rejects.toThrow(
      `${path}: kind is "selctor"; it must be stop-agent (the default), selector or detectors`,
    );
  });

  it('says nothing of its own threads where others take their place', async () => {
    const yaml = 'name: x\ndescription: Made here.\ndata: { synthetic: { threads: 200 } }';
    const path = join(temporaryFolder({ 'my.yaml': yaml }), 'my.yaml');
    const source = { path, overrides: [], runs: 'runs' };
    expect(await openExperiment(source)).toMatchObject({ description: 'Made here.' });
    const own = await openExperiment({ ...source, data: 'own.jsonl' });
    expect(own.description).toBe('');
    expect(own.members[0].resolved.config).toMatchObject({ description: '', data: { threads: 'own.jsonl' } });
    const set = [{ data: { threads: 'own.jsonl' } }];
    expect(await openExperiment({ ...source, overrides: set })).toMatchObject({ description: '' });
    const described = [...set, { description: 'Mine.' }];
    expect(await openExperiment({ ...source, overrides: described })).toMatchObject({ description: 'Mine.' });
  });

  it('that is not there, but is a recipe of Earshot, is said to lie there', async () => {
    for (const path of ['nowhere/recipes/quickstart.yaml', 'quickstart'])
      await expect(openExperiment({ path, overrides: [], runs: 'runs' })).rejects.toThrow(
        `there is no ${path}; the recipe of that name is experiments/recipes/quickstart.yaml`,
      );
    await expect(openExperiment({ path: 'nowhere.yaml', overrides: [], runs: 'runs' })).rejects.toThrow(
      'there is no nowhere.yaml',
    );
  });

  it('needs only a name, and is one variant then', async () => {
    const file = await load('name: x');
    expect(file.variants).toEqual([
      { name: 'agent', experiment: experimentSchema.parse({ name: 'x', crossFitting: {}, guarantee: null }) },
    ]);
    const path = join(temporaryFolder({ 'my.yaml': 'name: x' }), 'my.yaml');
    const experiment = await openExperiment({ path, overrides: [], runs: 'runs' });
    expect(trialsOf(experiment).map(({ directory }) => directory)).toEqual(
      [1, 2, 3, 4, 5].map((seed) => `runs/x/agent/seed-${seed}`),
    );
  });

  it('has variants on top of what they share, and overrides on top of both', async () => {
    const yaml =
      'name: x\nagent: { iterations: 3, imitation: { alpha: 0.6 } }\nvariants:\n  a: {}\n  b: { agent: { iterations: 5 }, seeds: [9] }';
    const iterations = async (...overrides: PlainObject[]) =>
      (await load(yaml, overrides)).variants.map(({ experiment }) => experiment.agent.iterations);
    expect(await iterations()).toEqual([3, 5]);
    expect(await iterations({ agent: { iterations: 7 } })).toEqual([7, 7]);
    const { variants } = await load(yaml);
    expect(variants.map(({ experiment }) => experiment.seeds)).toEqual([[1, 2, 3, 4, 5], [9]]);
    expect(variants.map(({ experiment }) => experiment.agent.imitation.alpha)).toEqual([0.6, 0.6]);
  });

  it('leaves an option of a detector to the variants that have that detector', async () => {
    const yaml = [
      'kind: detectors',
      'name: x',
      'split: { train: 10 }',
      'endpoints: { llm: { baseURL: "http://localhost:1/v1", model: m } }',
      'detector: { name: s2mad, models: { supporter: llm } }',
      'variants: { debate: {}, alone: { detector: { name: single-prompt, model: llm } } }',
    ].join('\n');
    const path = join(temporaryFolder({ 'my.yaml': yaml }), 'my.yaml');
    const detectors = async (detector: PlainObject) => {
      const overrides = [{ detector }, { concurrency: 3 }];
      const { variants } = await loadVariants({ path, overrides, resolve: resolveDetectorsExperiment });
      expect(variants.map(({ experiment }) => experiment.concurrency)).toEqual([3, 3]);
      return variants.map(({ experiment }) => experiment.detector);
    };
    expect(await detectors({ rounds: 4 })).toMatchObject([{ name: 's2mad', rounds: 4 }, { name: 'single-prompt' }]);
    expect(await detectors({ name: 'local' })).toMatchObject([{ name: 'local' }, { name: 'local' }]);
    await expect(detectors({ roundz: 4 })).rejects.toThrow('did you mean');
  });

  it.each(['utf16le', 'utf8'] as const)('is read with the mark of %s', async (encoding) => {
    const path = join(temporaryFolder(), 'marked.yaml');
    writeFileSync(path, '\ufeffname: marked\nseeds: [4]\n', encoding);
    expect(await loadVariants({ path, overrides: [], resolve: resolveExperiment })).toMatchObject({ name: 'marked' });
  });

  it('reads anchors and merge keys', async () => {
    const { variants } = await load(
      'name: x\nvariants:\n  a: { agent: &a { iterations: 3, minPosts: 4 } }\n  b: { agent: { <<: *a, minPosts: 5 } }',
    );
    expect(variants.map(({ experiment: { agent } }) => [agent.iterations, agent.minPosts])).toEqual([
      [3, 4],
      [3, 5],
    ]);
  });

  it('says what is wrong with its variants and its name', async () => {
    await expect(load('name: x\nvariants: [a]')).rejects.toThrow('variants must map names to overrides');
    await expect(load('name: x\nvariants: { a/b: {} }')).rejects.toThrow(
      'variants.a/b must be a plain name with a map of overrides',
    );
    await expect(load('name: x\nvariants: { a: 3 }')).rejects.toThrow('variants.a must be a plain name');
    await expect(load('name: ../x')).rejects.toThrow('name: letters, digits, dots, dashes and underscores only');
    await expect(load('seeds: [1]')).rejects.toThrow(/name: is missing; give a string/);
    await expect(load('name: x\nname: y')).rejects.toThrow(/not valid YAML: line 2, column 1: expected each key once/);
  });
});
