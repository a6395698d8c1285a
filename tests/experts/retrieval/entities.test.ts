import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { RoleModel } from '../../../experts/asking/shared-questions.ts';
import { endpointSchema } from '../../../experts/llm/endpoint.ts';
import { promptLine } from '../../../experts/llm/prompt-text.ts';
import {
  createEntityRecognizer,
  entitiesSchema,
  entityThresholdSchema,
  selectEntities,
} from '../../../experts/retrieval/entities.ts';
import { patternEntities } from '../../../experts/retrieval/pattern-entities.ts';
import { aggregateTokens, type ClassifiedToken } from '../../../experts/retrieval/token-classifier.ts';
import { writeModel } from '../../src/text/tiny-model.ts';
import { askAnew } from './ask-anew.ts';
import { tinyTokenClassifierFiles } from './tiny-token-classifier.ts';

const create = (options: z.input<typeof entitiesSchema>, model: RoleModel = modelThatSays('nothing')) =>
  createEntityRecognizer({ options: entitiesSchema.parse(options), model });
/** A model that always answers the same, and what it was asked. */
function modelThatSays(answer: unknown): RoleModel & { readonly asked: string[] } {
  const asked: string[] = [];
  const chat: RoleModel['service']['chat'] = async ({ messages }) => {
    asked.push(messages[0].content);
    const usage = { requests: 1, inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 };
    return { text: JSON.stringify(answer), logprobs: null, usage, latencyMs: 1, finishReason: 'stop' };
  };
  const endpoint = endpointSchema.parse({ name: 'm', baseURL: 'http://localhost:1/v1', model: 'm' });
  return { service: { chat }, endpoint, options: { model: 'm' }, asked };
}

const entity = (text: string, confidence: number) => ({ text, confidence, start: 0, end: text.length, type: 'PER' });

describe('falling threshold (Algorithm 2)', () => {
  const threshold = entityThresholdSchema.parse({});
  const texts = (...confidences: number[]) =>
    selectEntities({ entities: confidences.map((each) => entity(String(each), each)), threshold }).map(({ text }) =>
      Number(text),
    );

  it('takes all that reach the highest threshold any reaches', () => {
    expect(texts(0.95, 0.8, 0.79, 0.2)).toEqual([0.95, 0.8]);
    expect(texts(0.79, 0.71, 0.69)).toEqual([0.79, 0.71]);
    expect(texts(0.35, 0.31, 0.2)).toEqual([0.35, 0.31]);
  });

  it('tries the floor itself and nothing below it', () => {
    expect(texts(0.1, 0.05)).toEqual([0.1]);
    expect(texts(0.09)).toEqual([]);
    expect(texts()).toEqual([]);
  });

  it('goes on until there are as many as wanted', () => {
    const entities = [entity('a', 0.9), entity('b', 0.65), entity('c', 0.3)];
    expect(selectEntities({ entities, threshold: { ...threshold, minEntities: 2 } })).toHaveLength(2);
    expect(selectEntities({ entities, threshold: { ...threshold, minEntities: 4 } })).toHaveLength(3);
  });
});

describe('joining tokens (Eq. 2)', () => {
  const text = 'Jamie Foxx met Katie';
  const token = (start: number, end: number, label: string, probability: number, continuesWord = false) =>
    ({ start, end, label, probability, continuesWord }) satisfies ClassifiedToken;

  it('averages the confidence over an entity, and never cuts a word', () => {
    const tokens = [
      token(0, 5, 'B-PER', 0.9),
      token(0, 5, 'I-PER', 0.7, true),
      token(6, 10, 'I-PER', 0.5),
      token(6, 10, 'O', 0.9, true),
      token(11, 14, 'O', 0.99),
      token(15, 20, 'I-PER', 0.4),
    ];
    expect(aggregateTokens({ text, tokens })).toEqual([
      { text: 'Jamie Foxx', start: 0, end: 10, type: 'PER', confidence: expect.closeTo(0.7, 9) },
      { text: 'Katie', start: 15, end: 20, type: 'PER', confidence: 0.4 },
    ]);
  });

  it('begins anew at B and at another type', () => {
    const tokens = [token(0, 5, 'B-PER', 1), token(6, 10, 'B-PER', 1), token(11, 14, 'I-ORG', 1)];
    expect(aggregateTokens({ text, tokens }).map((each) => [each.text, each.type])).toEqual([
      ['Jamie', 'PER'],
      ['Foxx', 'PER'],
      ['met', 'ORG'],
    ]);
  });
});

describe('patterns', () => {
  const found = (text: string) => patternEntities(text).map((each) => `${each.type} ${each.text}`);

  it('finds runs of capitals without the words that begin a sentence', () => {
    expect(found("The University of Oslo hired Dr. Anna Li. She leaves Norway's Bergen")).toEqual([
      'NAME University of Oslo',
      'NAME Dr. Anna Li',
      "NAME Norway's Bergen",
    ]);
    expect(found('BREAKING: We are fine. I am, too.')).toEqual([]);
  });

  it('finds hashtags, handles and numbers with units, and leaves links alone', () => {
    expect(found('@Anna sold 3.5 million masks for $40 #Covid19 https://Example.org/Big-News')).toEqual([
      'HANDLE @Anna',
      'QUANTITY 3.5 million',
      'QUANTITY $40',
      'HASHTAG #Covid19',
    ]);
  });

  it('reads text without blanks and capitals', () => {
    expect(found('据《人民日报》报道，北京发生地震，50人受伤。')).toEqual([
      'QUOTED 人民日报',
      'CLAUSE 报道',
      'CLAUSE 北京发生地震',
      'QUANTITY 50人',
      'CLAUSE 受伤',
    ]);
  });

  it('keeps places: each entity is the text at its place', () => {
    const text = 'So 👍 Angela Merkel visits Köln 「東京」';
    for (const { text: own, start, end } of patternEntities(text)) expect(text.slice(start, end)).toBe(own);
  });

  it('is what recognises names unless told otherwise, so that nothing is downloaded', () => {
    expect(entitiesSchema.parse(undefined).method).toBe('patterns');
  });

  it('says in its options that no model was used', async () => {
    const recognizer = await create({ method: 'patterns' });
    expect(recognizer.options).toMatchObject({ method: 'patterns', threshold: { initial: 0.8 } });
    // Names reach 0.8; the quantity does not and is asked for only where there is nothing else.
    const texts = async (text: string) => (await recognizer.recognize(text, askAnew)).map(({ text: own }) => own);
    expect(await texts('Oslo sold 3 tons')).toEqual(['Oslo']);
    expect(await texts('they sold 3 tons')).toEqual(['3 tons']);
  });
});

describe('a token classifier', () => {
  let root: string;
  let model: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'earshot-ner-'));
    model = await writeModel(join(root, 'ner'), tinyTokenClassifierFiles());
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  const load = (more: Partial<z.input<typeof entitiesSchema> & { maxTokens: number }> = {}) =>
    create({ method: 'model', model, ...more });

  it('finds names with their places, pieces of words joined', async () => {
    const text = 'Yesterday Anna Merkel, of Oslo,  met anna.';
    const entities = await (await load()).recognize(text, askAnew);
    expect(entities.map(({ text: own, type }) => [own, type])).toEqual([
      ['Anna Merkel', 'PER'],
      ['Oslo', 'LOC'],
      ['anna', 'PER'],
    ]);
    for (const { text: own, start, end } of entities) expect(text.slice(start, end)).toBe(own);
    // softmax of logits (0, 4, 0, 0) for "anna" and (0, 0, 4, 0) for "merk": e⁴ / (e⁴ + 3)
    expect(entities[0].confidence).toBeCloseTo(Math.exp(4) / (Math.exp(4) + 3), 5);
  });

  it('lowers the threshold for a name it is unsure of', async () => {
    // "maybe" has logits (0, 1, 0, 0): e / (e + 3) = 0.475, above 0.4.
    const [found] = await (await load()).recognize('they met maybe', askAnew);
    expect(found).toMatchObject({ text: 'maybe', type: 'PER' });
    expect(found.confidence).toBeCloseTo(Math.E / (Math.E + 3), 5);
    expect(await (await load()).recognize('they met', askAnew)).toEqual([]);
  });

  it('reads long texts in windows', async () => {
    const text = `${'They met and met. '.repeat(40)}Anna Merkel met.`;
    const recognizer = await load({ maxTokens: 12 });
    expect((await recognizer.recognize(text, askAnew)).map((each) => each.text)).toEqual(['Anna Merkel']);
    const run = 'met '.repeat(60);
    expect((await recognizer.recognize(`${run}Oslo`, askAnew)).map((each) => each.start)).toEqual([run.length]);
  });

  it('is known by its files, and says what to do without a model', async () => {
    expect((await load()).options).toMatchObject({
      method: 'model',
      files: { 'model.onnx': expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    await expect(load({ model: './no-such-folder' })).rejects.toThrow('there is no model folder');
    const absent = { model: 'nobody/nothing', cacheDirectory: root, localFilesOnly: true };
    await expect(load(absent)).rejects.toThrow(
      /nobody\/nothing is not complete in .* localFilesOnly .*\(retrieval\.entities\.method: patterns\)/,
    );
    await expect(load({ ...absent, localFilesOnly: false, hub: 'http://127.0.0.1:9' })).rejects.toThrow(
      /cannot load model nobody\/nothing .*fetch failed.*method: patterns/,
    );
  });
});

describe('words by tf-idf', () => {
  const found = async (text: string, more: { maxTerms?: number } = {}) =>
    (await (await create({ method: 'tf-idf', ...more })).recognize(text, askAnew)).map((each) => each.text);

  it('are the frequent ones that few sentences hold, wherever they stand, without function words and links', async () => {
    // Sentences with dam, flood, Oslo: 2, 1, 1 of 3. Weights: dam 2·(1 + ln 4/3) = 2.58, flood 2·(1 + ln 2) = 3.39,
    // Oslo 1·(1 + ln 2) = 1.69, https://… none; all others weigh as much as Oslo and come later.
    const text = 'The dam near Oslo broke. A flood, what a flood! The dam held https://dam.example/flood.';
    expect(await found(text, { maxTerms: 2 })).toEqual(['dam', 'flood', 'flood', 'dam']);
    expect(await found(text, { maxTerms: 1 })).toEqual(['flood', 'flood']);
    expect(await found('They did!')).toEqual([]);
  });
});

describe('entities that a language model names', () => {
  const text = 'In Oslo Ana Costa met the US  Navy; OSLO, a museum and Oslo-born Kim.';

  it('are those it found by a definition, at all their places', async () => {
    const model = modelThatSays({
      candidates: [
        { text: 'US Navy', reason: 'r', type: 'ORG' },
        { text: 'Oslo', reason: 'r', type: 'LOC' },
        { text: 'museum', reason: 'a kind of things', type: null },
        { text: 'Paris', reason: 'made up', type: 'LOC' },
        { text: ' ', reason: 'r', type: 'MISC' },
      ],
    });
    const recognizer = await create({ method: 'prompt-ner' }, model);
    const entities = await recognizer.recognize(text, askAnew);
    expect(entities.map(({ text: own, type }) => [own, type])).toEqual([
      ['Oslo', 'LOC'],
      ['US  Navy', 'ORG'],
      ['Oslo', 'LOC'],
    ]);
    for (const { text: own, start, end } of entities) expect(text.slice(start, end)).toBe(own);
    expect(model.asked).toHaveLength(1);
    expect(model.asked[0]).toContain(promptLine(text));
    expect(recognizer.options).toMatchObject({ method: 'prompt-ner', model: { model: 'm' } });
  });

  it('are words of their own, in other capitals, or within a clause where there are no blanks', async () => {
    const named = async (of: string, ...entities: string[]) => {
      const recognizer = await create({ method: 'llm-ner' }, modelThatSays({ entities }));
      return (await recognizer.recognize(of, askAnew)).map(({ text: own, start }) => [own, start]);
    };
    expect(await named('a museum of the US', 'US')).toEqual([['US', 16]]);
    expect(await named('oslo (Oslo?)', 'Oslo')).toEqual([['Oslo', 6]]);
    expect(await named('in oslo', 'Oslo')).toEqual([['oslo', 3]]);
    expect(await named('据说北京发生地震', '北京')).toEqual([['北京', 2]]);
    expect(await named('C++ (beta)', '(beta)', 'C++')).toEqual([
      ['C++', 0],
      ['(beta)', 4],
    ]);
  });

  it('differ in their questions', async () => {
    const one = modelThatSays({ entities: [] });
    const other = modelThatSays({ candidates: [] });
    await (await create({ method: 'llm-ner' }, one)).recognize(text, askAnew);
    await (await create({ method: 'prompt-ner' }, other)).recognize(text, askAnew);
    expect(other.asked[0]).toContain('by the definition');
    expect(one.asked[0]).not.toContain('definition');
  });
});
