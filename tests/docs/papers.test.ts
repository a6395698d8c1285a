import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readYamlMap } from '../../experiments/config/experiment-file.ts';
import { isPlainObject } from '../../experiments/config/overrides.ts';
import { earshot, threadLines } from '../experiments/cli/command-line.ts';
import { lines, tinyThreads } from '../experiments/selector/tiny-selector.ts';
import { startServer } from '../experts/llm/service.ts';
import { startService, webResults, wikipediaAnswer } from '../experts/retrieval/fake-service.ts';
import { firstAnswer } from '../llm-server/first-answer.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { blocksOf, earshotCommands, home } from './pages.ts';

/*
 * Every command of docs/reference/papers.md, as written but for its sizes, on miniatures of the data that it names. Models are a server that
 * gives the first answer of every schema.
 */

const fewest = {
  'stop-agent': {
    'evaluation.resamples': 10,
    encoder: { name: 'hashing', dimensions: 8 },
    detector: { characterWeights: [1], l2: [1e-3], folds: 2 },
    split: { detector: 16, demonstrations: 8, environment: 8, test: 8 },
    'agent.iterations': 1,
    'agent.hidden': 4,
    'agent.behaviorCloning.epochs': 1,
    'agent.imitation.ppo.epochs': 1,
    'agent.imitation.discriminator': { hidden: 4, epochs: 1, warmupIterations: 0 },
    'evaluation.firstPosts': [1],
    'evaluation.confidences': [0.8],
  },
  selector: {
    encoder: { name: 'hashing', dimensions: 8 },
    'selector.epochs': 1,
    'selector.claimsPerEpoch': 4,
    'selector.postsPerClaim': 2,
    'data.planted': { threads: 24, testThreads: 8, replies: 3, pretrainingItems: 20 },
  },
  detectors: { 'split.test': 2 },
};

const isKind = (kind: unknown): kind is keyof typeof fewest => typeof kind === 'string' && kind in fewest;

function settings(options: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(options).flatMap(([path, value]) => ['--set', `${path}=${JSON.stringify(value)}`]);
}

/** Words that make a training as small as it can be. Models are asked of the given services. */
async function smallest(
  recipe: string,
  services: { model: string; web: string; wikipedia: string },
): Promise<string[]> {
  const { kind, experiment, ...own } = await readYamlMap(join(home, recipe), { what: '', holds: '' });
  if (kind === 'sweep') {
    const { 'agent.behaviorCloning.epochs': _, ...sizes } = fewest['stop-agent'];
    expect(isPlainObject(experiment) && experiment.kind === undefined, recipe).toBe(true);
    return settings({ ...sizes, split: { ...sizes.split, development: 8 } });
  }
  const shape = kind ?? 'stop-agent';
  if (!isKind(shape)) throw new Error(`${recipe}: nothing is known of the kind ${String(kind)}`);
  const { endpoints, detector, variants, stanceModel } = own;
  const here = { baseURL: services.model, apiKeyEnv: null };
  const named = isPlainObject(endpoints) ? Object.keys(endpoints) : [];
  return [
    ...settings({ ...fewest[shape], ...Object.fromEntries(named.map((name) => [`endpoints.${name}`, here])) }),
    ...(isPlainObject(detector) && detector.name === 'zofia'
      ? settings({
          'detector.retrieval.webSearch': { baseURL: services.web, apiKeyEnv: null },
          'detector.retrieval.wikipedia': { baseURL: `${services.wikipedia}/w/api.php` },
        })
      : []),
    ...(isPlainObject(stanceModel) && stanceModel.name === 'chat'
      ? settings({ 'stanceModel.model': here, 'veracityModel.model': here })
      : []),
    // Every variant of these is judged by tests/experiments/detectors/paper-recipes.test.ts.
    ...(shape === 'detectors' && isPlainObject(variants) ? ['--variants', Object.keys(variants)[0]] : []),
  ];
}

/** Makes the recipes that the commands name, with one seed each. */
function copyRecipes(cwd: string): void {
  const folder = 'experiments/recipes';
  cpSync(join(home, folder), join(cwd, folder), { recursive: true });
  for (const name of readdirSync(join(cwd, folder)).filter((name) => name.endsWith('.yaml'))) {
    const path = join(cwd, folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^seeds: .*/m, 'seeds: [1]'));
  }
}

const blocks = blocksOf('docs/reference/papers.md').filter(({ language }) => language === 'sh');

it.each(blocks.map(({ place, code }) => [place, code] as const))('%s runs', async (_, code) => {
  const server = await startServer((body) => firstAnswer(body));
  const web = await startService(() => webResults({ url: 'https://a.example/1', page_age: '2014-02-27' }));
  const wikipedia = await startService(wikipediaAnswer([]));
  const services = { model: server.baseURL, web: web.origin, wikipedia: wikipedia.origin };
  const { train, test, pretraining } = tinyThreads();
  const items = pretraining.map(({ id, posts, labels }) => ({ id, text: posts[0].text, labels }));
  const cwd = temporaryFolder({
    'pheme.jsonl.gz': gzipSync(threadLines(60) + lines(train)),
    'twitter16.jsonl': threadLines(40, { prefix: 'c' }),
    'weibo_ced.jsonl.gz': gzipSync(threadLines(20)),
    'rumoreval_s.jsonl': lines(test.slice(0, 6)),
    'rumoureval2017.jsonl': lines(test.slice(6)),
    'pstance.jsonl': lines(items),
    'ct_dev.tsv': 'index\ttext\tlabels\n0\tMasks work\t[1.0, 1.0, 0.0]\n1\tGood morning\t[0.0, 0.0, 0.0]\n',
    'fakenewsnet/politifact_fake.csv': 'id,news_url,title,tweet_ids\np1,,Oslo sold,500308076004929537\n',
    'fakenewsnet/politifact_real.csv': 'id,news_url,title,tweet_ids\np2,,They wed in Rome,500308076004929538\n',
  });
  copyRecipes(cwd);
  const commands = earshotCommands(code);
  expect(commands.length).toBeGreaterThan(1);
  for (const words of commands) {
    const trains = words[0] === 'train' || words[0] === 'sweep';
    const { code, out, errors } = await earshot([...words, ...(trains ? await smallest(words[1], services) : [])], {
      cwd,
    });
    expect(code, `${words.join(' ')}\n${errors}`).toBe(0);
    expect(out).not.toContain('Nothing was tested');
    expect(out.trim()).not.toBe('');
  }
});

it('would fail where nothing is tested', async () => {
  const { train } = tinyThreads();
  const cwd = temporaryFolder({ 'pheme.jsonl': lines(train) });
  copyRecipes(cwd);
  const recipe = 'experiments/recipes/jsdrv-tables.yaml';
  const words = ['train', recipe, '--data', 'pheme.jsonl', '--variants', 'jsdrv'];
  const { code, out, errors } = await earshot([...words, ...settings(fewest.selector)], { cwd });
  expect(code, errors).toBe(0);
  expect(out).toContain('Nothing was tested');
});
