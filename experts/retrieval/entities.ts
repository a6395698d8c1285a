import { z } from 'zod';
import { aggregateTokens } from './aggregate-tokens.ts';
import type { Entity } from './entity.ts';
import { patternEntities } from './pattern-entities.ts';
import { entityThresholdSchema, selectEntities } from './select-entities.ts';
import { loadTokenClassifier, tokenClassifierSchema } from './token-classifier.ts';

const threshold = entityThresholdSchema;

export const entitiesSchema = z
  .discriminatedUnion('method', [
    tokenClassifierSchema.extend({
      method: z.literal('model').describe('a pretrained token classifier, as in the paper'),
      threshold,
    }),
    z.strictObject({
      method: z
        .literal('patterns')
        .describe('no model: capitalised runs, hashtags, handles, quoted titles, numbers with units'),
      threshold,
    }),
  ])
  .prefault({ method: 'model' })
  .describe('recognises the names in a claim, which become the query');

export interface EntityRecognizer {
  /** Method, version and all that can change what is recognised. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The entities that pass the falling threshold, in the order of the text. */
  recognize(text: string): Promise<Entity[]>;
}

export async function createEntityRecognizer(options: z.output<typeof entitiesSchema>): Promise<EntityRecognizer> {
  if (options.method === 'patterns')
    return {
      options: { method: 'patterns', version: 1, threshold: options.threshold },
      recognize: async (text) => selectEntities({ entities: patternEntities(text), threshold: options.threshold }),
    };
  const { method, threshold, ...source } = options;
  const classifier = await loadTokenClassifier(source);
  return {
    options: { method, version: 1, threshold, ...classifier.identity },
    recognize: async (text) =>
      selectEntities({ entities: aggregateTokens({ text, tokens: await classifier.classify(text) }), threshold }),
  };
}
