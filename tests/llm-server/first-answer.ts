import { isPlainObject, type PlainObject } from '../../experiments/config/overrides.ts';
import type { ChatBody } from './scripted-rule.ts';

/** What a model says that answers every schema with its first choice, and speaks otherwise. */
export function firstAnswer(body: ChatBody): string {
  const { response_format: format } = body;
  const schema = isPlainObject(format) && isPlainObject(format.json_schema) ? format.json_schema.schema : undefined;
  return isPlainObject(schema) ? JSON.stringify(firstOf(schema)) : 'Much speaks for it, and little against it.';
}

function firstOf(schema: PlainObject): unknown {
  const { type, properties, items, anyOf } = schema;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return firstOf(anyOf[0]);
  if (isPlainObject(properties))
    return Object.fromEntries(
      Object.entries(properties).map(([key, own]) => [key, isPlainObject(own) ? firstOf(own) : null]),
    );
  if (type === 'array') return isPlainObject(items) ? [firstOf(items)] : [];
  if (type === 'number' || type === 'integer') return 0.5;
  return type === 'null' ? null : 'as the text says';
}
