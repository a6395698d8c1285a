import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { isPlainObject, mergeDeep, type PlainObject } from '../../../experiments/config/overrides.ts';
import { detectorDecisionSchema } from '../../../experiments/detectors/decisions.ts';
import { readJsonLines } from '../../../src/json-file.ts';
import { startServer } from '../../experts/llm/service.ts';
import { startService, webResults, wikipediaAnswer } from '../../experts/retrieval/fake-service.ts';
import { firstAnswer } from '../../llm-server/first-answer.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';

const recipeOf = (name: string): PlainObject =>
  parse(readFileSync(join(import.meta.dirname, `../../../experiments/recipes/${name}.yaml`), 'utf8'), { merge: true });

const item = {
  id: 't',
  rumor: true,
  labels: { news: 'real', scientific_claim: 1, scientific_reference: 0, scientific_entities: 1 },
  posts: Array.from({ length: 4 }, (_, post) => ({
    id: `t-${post}`,
    time: '2018-03-01T10:00:00Z',
    text: post === 0 ? 'Jamie Foxx will marry Katie Holmes in Paris.' : `Reply ${post}, no source?`,
  })),
};

/** Calls of a judgement of each variant, as the papers' algorithms count them; one item of a claim and three replies. */
const calls: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // Three scores, the kind of claim, two opinions, two a round; the debaters agree, so there is no judge.
  's2mad-tables': {
    vanilla: 1,
    s2mad: 10,
    'without-stance': 7,
    'without-non-subjective': 9,
    'without-subjective': 9,
    'without-debate': 5,
    'rounds-0': 6,
    'rounds-1': 8,
    'rounds-3': 12,
    'rounds-4': 14,
    'rounds-5': 16,
  },
  's2mad-early': { s2mad: 10, vanilla: 1 },
  // Three categories each. Openings, one round (the test's), closings and a verdict; all of the council agree at once.
  'council-table': {
    gemma3: 3,
    qwen3: 3,
    'deepseek-r1': 3,
    phi4: 3,
    mistral: 3,
    llama31: 3,
    'single-gemma3': 21,
    'single-qwen3': 21,
    'single-deepseek-r1': 21,
    'single-phi4': 21,
    'single-mistral': 21,
    'single-llama31': 21,
    'single-deepseek-r1-qwen3': 21,
    'single-gemma3-phi4': 21,
    'single-o4-mini-claude-4': 21,
    'team-same': 123,
    'team-different': 75,
    council: 15,
  },
  // Five dimensions of language, two calls of the expert, claims, a verification by passages (one claim, said twice), a round of three.
  'zofia-tables': {
    alone: 1,
    'chain-of-thought': 1,
    zofia: 13,
    'without-wikipedia': 13,
    'without-web': 11,
    'without-retrieval': 11,
    'without-linguist': 8,
    'without-expert': 11,
    'without-analyses': 6,
    'without-claims': 10,
    'without-debate': 11,
    'tf-idf': 13,
    'prompt-ner': 14,
    'llm-ner': 14,
    sentence: 13,
    'core-claim': 14,
    or: 13,
  },
  'zofia-keywords': Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k-${index + 1}`, 13])),
  // Of 40 tokens an answer, so that 400 are spent before ZoFia decides.
  'zofia-tokens': {
    ...Object.fromEntries([200, 400, 600, 800, 1000, 1200].map((limit) => [`thought-${limit}`, 1])),
    'zofia-400': 0,
    ...Object.fromEntries([600, 800, 1000, 1200].map((limit) => [`zofia-${limit}`, 12])),
  },
};

it.each(Object.entries(calls))(
  '%s judges with every variant, each by the calls of its algorithm',
  async (name, expected) => {
    const server = await startServer((body) => ({ text: firstAnswer(body), usage: { input: 100, output: 40 } }));
    const web = await startService(() =>
      webResults({ url: 'https://fans.example/1', description: 'Jamie Foxx says so.', page_age: '2018-02-27' }),
    );
    const wikipedia = await startService(
      wikipediaAnswer([
        { title: 'Jamie Foxx', extract: 'An actor.', revisions: [{ day: '2017-01-01', html: '<p>An actor.</p>' }] },
      ]),
    );
    const recipe = recipeOf(name);
    const { endpoints, variants, detector } = recipe;
    const models = Object.keys(isPlainObject(endpoints) ? endpoints : {});
    const sources = {
      webSearch: { baseURL: web.origin, apiKeyEnv: null },
      wikipedia: { baseURL: `${wikipedia.origin}/w/api.php` },
    };
    const here = mergeDeep(recipe, {
      data: { threads: 'item.jsonl' },
      split: { test: 'rest' },
      endpoints: Object.fromEntries(models.map((model) => [model, { baseURL: server.baseURL, apiKeyEnv: null }])),
      variants: Object.fromEntries(
        Object.entries(isPlainObject(variants) ? variants : {})
          .filter(([variant]) => /^(single|team)-/.test(variant))
          .map(([variant]) => [variant, { detector: { rounds: 1 } }]),
      ),
      ...(isPlainObject(detector) && detector.name === 'zofia' && { detector: { retrieval: sources } }),
    });
    const cwd = temporaryFolder({ 'item.jsonl': JSON.stringify(item), 'recipe.yaml': here });
    const { code, errors } = await earshot(['train', 'recipe.yaml', '--no-html'], { cwd });
    expect(code, errors).toBe(0);
    const runs = join(cwd, 'runs', name);
    const counted = Object.keys(isPlainObject(variants) ? variants : {}).map((variant) => {
      const decisions = readJsonLines(join(runs, variant, 'seed-1/decisions.jsonl'), detectorDecisionSchema);
      return [variant, decisions[decisions.length - 1].numbers.calls];
    });
    expect(Object.fromEntries(counted)).toEqual(expected);
    expect(readFileSync(join(runs, 'report.md'), 'utf8')).toContain(
      'Money is what was paid when the judgement was made',
    );
  },
);
