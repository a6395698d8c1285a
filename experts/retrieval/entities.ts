import { z } from 'zod';
import { documentFrequencies, inverseDocumentFrequency } from '../../src/text/tf-idf.ts';
import type { AskShared, RoleModel } from '../asking/shared-questions.ts';
import { namesNothing, patternEntities } from './pattern-entities.ts';
import { PROMPT_VERSION, promptedEntities } from './prompted-entities.ts';
import { type Entity, splitSentences, withoutLinks } from './text-spans.ts';
import { aggregateTokens, loadTokenClassifier, tokenClassifierSchema } from './token-classifier.ts';

export const entityThresholdSchema = z
  .strictObject({
    initial: z.number().min(0).max(1).default(0.8).describe('confidence required at first (λ_init)'),
    step: z.number().min(0.001).max(1).default(0.1).describe('lowered by this while too few entities reach it (Δλ)'),
    floor: z.number().min(0).max(1).default(0.1).describe('lowest confidence accepted'),
    minEntities: z.int().min(1).default(1).describe('entities wanted (n_min)'),
  })
  .refine(({ initial, floor }) => floor <= initial, 'floor must not exceed initial')
  .prefault({})
  .describe('how confident the recogniser must be of an entity');

export const entitiesSchema = z
  .discriminatedUnion('method', [
    tokenClassifierSchema.extend({
      method: z.literal('model').describe('a pretrained token classifier, as in the paper'),
      threshold: entityThresholdSchema,
    }),
    z.strictObject({
      method: z
        .literal('patterns')
        .describe('no model: capitalised runs, hashtags, handles, quoted titles, numbers with units'),
      threshold: entityThresholdSchema,
    }),
    z.strictObject({
      method: z
        .literal('tf-idf')
        .describe('ablation (Table 3): words that are frequent in the text and rare among its sentences'),
      maxTerms: z.int().min(1).default(10).describe('how many words, those of the highest weights, are candidates'),
    }),
    z.strictObject({
      method: z
        .literal('prompt-ner')
        .describe('ablation (Table 3): a language model justifies each candidate by a definition (PromptNER)'),
    }),
    z.strictObject({
      method: z
        .literal('llm-ner')
        .describe('ablation (Table 3): a language model names the entities without being given a definition'),
    }),
  ])
  .prefault({ method: 'patterns' })
  .describe('recognises the names in a claim, which become the query');

export interface EntityRecognizer {
  /** The method, its version and everything else that can change the entities. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The entities in the order of the text; those above the falling threshold if the method gives confidences. */
  recognize(text: string, askShared: AskShared): Promise<Entity[]>;
}

export async function createEntityRecognizer(settings: {
  options: z.output<typeof entitiesSchema>;
  /** The language model of the methods that query one. */
  model: RoleModel;
}): Promise<EntityRecognizer> {
  const { options, model } = settings;
  switch (options.method) {
    case 'model': {
      const { method, threshold, ...source } = options;
      const classifier = await loadTokenClassifier(source);
      return {
        options: { method, version: 1, threshold, ...classifier.identity },
        recognize: async (text) =>
          selectEntities({ entities: aggregateTokens({ text, tokens: await classifier.classify(text) }), threshold }),
      };
    }
    case 'patterns': {
      const { method, threshold } = options;
      return {
        options: { method, version: 1, threshold },
        recognize: async (text) => selectEntities({ entities: patternEntities(text), threshold }),
      };
    }
    case 'tf-idf': {
      const { method, maxTerms } = options;
      return {
        // `corpus` is no longer a setting. It stays in stored keys.
        options: { method, version: 1, maxTerms, corpus: null },
        recognize: async (text) => tfIdfEntities(text, maxTerms),
      };
    }
    case 'prompt-ner':
    case 'llm-ner': {
      const { method } = options;
      return {
        options: { method, version: 1, promptVersion: PROMPT_VERSION, model: model.options },
        recognize: (text, askShared) => promptedEntities({ method, text, model, askShared }),
      };
    }
  }
}

/** Algorithm 2: the entities above the schedule's highest threshold that at least `minEntities` of them reach. */
export function selectEntities(options: {
  entities: readonly Entity[];
  threshold: z.output<typeof entityThresholdSchema>;
}): Entity[] {
  const { entities, threshold } = options;
  let selected: Entity[] = [];
  for (let steps = 0; selected.length < threshold.minEntities; steps++) {
    // Rounded, because 0.8 − 7 · 0.1 must be 0.1 and not a little less.
    const current = Number((threshold.initial - steps * threshold.step).toFixed(9));
    if (current < threshold.floor) break;
    selected = entities.filter(({ confidence }) => confidence >= current);
  }
  return selected;
}

/**
 * The words with the highest tf · idf, at every place where they occur, in the order of the text. The paper does not say
 * where its document frequencies come from; here the sentences of the text are the documents. Among equal weights the
 * first word wins. The confidence is the weight relative to the highest.
 */
function tfIdfEntities(text: string, maxTerms: number): Entity[] {
  const words = wordsOf(text);
  const sentences = splitSentences(text).map((sentence) => wordsOf(sentence.text).map(({ word }) => word));
  const counts = new Map<string, number>();
  for (const { word } of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const { documents, of } = documentFrequencies(sentences);
  const weights = [...counts]
    .map(([word, count]) => ({ word, weight: count * inverseDocumentFrequency(documents, of.get(word) ?? 0) }))
    .sort((one, other) => other.weight - one.weight)
    .slice(0, maxTerms);
  const confidences = new Map(weights.map(({ word, weight }) => [word, weight / weights[0].weight]));
  return words.flatMap(({ word, start, end }) => {
    const confidence = confidences.get(word);
    return confidence === undefined ? [] : [{ text: text.slice(start, end), start, end, type: 'TERM', confidence }];
  });
}

/** Words that may be names. In scripts without spaces these are whole clauses, because there is no word list. */
function wordsOf(text: string): { word: string; start: number; end: number }[] {
  return [...withoutLinks(text).matchAll(/[\p{L}\p{M}\p{N}]{2,}(?:[-'’][\p{L}\p{M}\p{N}]{2,})*/gu)]
    .filter(([word]) => !namesNothing(word))
    .map(({ 0: word, index }) => ({ word: word.toLowerCase(), start: index, end: index + word.length }));
}
