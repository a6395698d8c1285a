import { z } from 'zod';
import { type AskShared, askModel, type RoleModel } from '../asking/shared-questions.ts';
import { quotedEvidence } from '../llm/prompt-text.ts';
import { patternEntities } from './pattern-entities.ts';
import type { Entity } from './text-spans.ts';

/** Raised with every change to a prompt or a schema below. */
export const PROMPT_VERSION = 2;

const VERSION = '1';

/** PromptNER (Ashok and Lipton, 2023): a definition, an example, then candidates that are justified or refused. */
const promptNer = (text: string) =>
  `An entity is the name of one particular person (PER), organization (ORG), place (LOC), or of something else that has a \
name of its own: a work, a product, an event, a nationality (MISC). Pronouns, dates, numbers, professions, kinds of things \
and abstract concepts are no entities.

Example: "The minister met Ana Costa, head of Lisbon's zoo, on Monday."
- Ana Costa: she is one particular person; PER
- Lisbon: it is a city; LOC
- minister: it says what somebody is, not who; no entity
- Monday: it is a day; no entity

List what could be an entity in the text below, word for word as it stands there; for each say why it is one or is not by \
the definition, then its type.

${quotedEvidence('The text', [text])}`;

const onlyLlm = (text: string) =>
  `Name the named entities in the text below, word for word as they stand there.

${quotedEvidence('The text', [text])}`;

const candidatesSchema = z.object({
  candidates: z.array(
    z.object({
      text: z.string(),
      reason: z.string().describe('why it is an entity by the definition, or why it is none'),
      type: z.enum(['PER', 'ORG', 'LOC', 'MISC']).nullable().describe('null: no entity'),
    }),
  ),
});
const entitiesSchema = z.object({ entities: z.array(z.string()) });

/** The entities that a language model names, in the order of the text. Names that do not occur in it are dropped. */
export async function promptedEntities(question: {
  method: 'prompt-ner' | 'llm-ner';
  text: string;
  model: RoleModel;
  askShared: AskShared;
}): Promise<Entity[]> {
  const { method, text, model, askShared } = question;
  const shared = { model, version: VERSION, promptVersion: PROMPT_VERSION, part: `retrieval/${method}`, askShared };
  const pretended = patternEntities(text).map((entity) => entity.text);
  if (method === 'llm-ner') {
    const content = onlyLlm(text);
    const dryRunValue = { entities: pretended };
    const { value } = await askModel({ ...shared, content, schema: entitiesSchema, dryRunValue });
    return inOrder(value.entities.flatMap((name) => mentionsOf({ text: name, type: 'NAME' }, text)));
  }
  const dryRunValue = {
    candidates: pretended.map((name) => ({ text: name, reason: 'It is a name.', type: 'MISC' as const })),
  };
  const { value } = await askModel({ ...shared, content: promptNer(text), schema: candidatesSchema, dryRunValue });
  const named = value.candidates.flatMap(({ text: name, type }) => (type === null ? [] : [{ text: name, type }]));
  return inOrder(named.flatMap((name) => mentionsOf(name, text)));
}

function inOrder(entities: readonly Entity[]): Entity[] {
  return entities.toSorted((one, other) => one.start - other.start);
}

/**
 * Every occurrence of a name in a text: with the same spelling as a whole word, or else in other case, or else inside
 * words, as in scripts without spaces. Empty if the model made the name up.
 */
function mentionsOf(name: { text: string; type: string }, text: string): Entity[] {
  const spelling = name.text
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+');
  if (spelling === '') return [];
  const word = `(?<![\\p{L}\\p{N}])${spelling}(?![\\p{L}\\p{N}])`;
  const patterns = [new RegExp(word, 'gu'), new RegExp(word, 'giu'), new RegExp(spelling, 'giu')];
  for (const pattern of patterns) {
    const matches = [...text.matchAll(pattern)];
    if (matches.length > 0)
      return matches.map(({ 0: match, index: start }) => ({
        text: match,
        start,
        end: start + match.length,
        type: name.type,
        confidence: 1,
      }));
  }
  return [];
}
