import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { isPlainObject, type PlainObject } from './overrides.ts';
import { adviceOnRemovedOption } from './removed-options.ts';

/**
 * Checks a configuration against a schema.
 * @param options.wrong begins the message, such as `my.yaml is not a valid sweep`
 * @param options.keys schema for suggestions; `schema` by default
 * @throws InputError that names each problem
 */
export function checkedConfig<Schema extends z.ZodType>(options: {
  schema: Schema;
  input: unknown;
  wrong: string;
  keys?: z.ZodType;
}): z.output<Schema> {
  const { schema, input, wrong, keys = schema } = options;
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new InputError(`${wrong}:\n${configProblems({ schema: keys, input, error: parsed.error })}`);
}

export function experimentResolver<Schema extends z.ZodType>(schema: Schema) {
  return (input: PlainObject, source: string): z.output<Schema> =>
    checkedConfig({ schema, input, wrong: `${source} is not a valid experiment` });
}

/** One line per problem: its place, the value, the reason, and the nearest key for an unknown one. */
function configProblems(options: { schema: z.ZodType; input: unknown; error: z.ZodError }): string {
  const { schema } = options;
  return options.error.issues
    .flatMap((issue) => withinAlternatives(issue))
    .map((issue) => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys
          .map((key) =>
            unknownKey(key, {
              path: issue.path,
              keys: keysAt(schema, issue.path, options.input),
              paths: pathsOf(schema, options.input),
              value: valueAt(options.input, [...issue.path, key]),
            }),
          )
          .join('\n');
      const value = valueAt(options.input, [...issue.path]);
      const advice = adviceOnRemovedOption(issue.path.join('.'), value);
      if (advice !== undefined) return `  ${issue.path.join('.')}: ${advice}`;
      // Of several kinds of value none can be told to be meant, nor which of their keys are known.
      if (value === undefined && issue.code === 'invalid_union' && issue.discriminator !== undefined)
        return `  ${issue.path.join('.')}: missing beside what is set there; ${issue.message.replace(/^.*Expected /, 'give ')}`;
      const isShown = value !== undefined && !issue.path.some((part) => MAY_HOLD_SECRET.test(String(part)));
      const actual = isShown ? ` (found ${typeof value === 'number' ? value : shown(value)})` : '';
      const message = issue.message.replace(
        /^Invalid input: expected (.*), received undefined$/,
        'is missing; give a $1',
      );
      return `  ${issue.path.join('.') || 'the file'}: ${message}${actual}`;
    })
    .join('\n');
}

/** Settings into which people write keys and passwords by mistake. What stands there is in no message. */
const MAY_HOLD_SECRET = /^(?:baseURL|url|headers|query)$|(?:Env|key|password|secret)$/i;

function shown(value: unknown): string | undefined {
  return JSON.stringify(value)
    ?.replace(/\/\/[^/\s"@]*@/g, '//…@')
    .slice(0, 80);
}

/** For a union, the problems of the alternative that fits best; "invalid" alone would not help. */
function withinAlternatives(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find(
    (problems) => problems.length > 0 && problems.every(({ code, path }) => code !== 'invalid_type' || path.length > 0),
  );
  if (meant === undefined) return [issue];
  return meant.flatMap((inner) => withinAlternatives({ ...inner, path: [...issue.path, ...inner.path] }));
}

function unknownKey(
  key: string,
  options: { path: readonly PropertyKey[]; keys: readonly string[]; paths: readonly string[]; value: unknown },
): string {
  const { path, keys, paths, value } = options;
  const place = [...path, key].join('.');
  const advice = adviceOnRemovedOption(place, value);
  if (advice !== undefined) return `  ${place}: ${advice}`;
  const meant = (names: readonly string[]) =>
    `  ${place}: unknown key; did you mean ${names.slice(0, mostPaths).join(' or ')}?`;
  const elsewhere = paths.filter((each) => each !== place && each.endsWith(`.${key}`));
  if (elsewhere.length > 0) return meant(elsewhere);
  if (keys.length === 0) return `  ${place}: unknown key`;
  const nearest = closest(key, [...keys]);
  if (distance(key, nearest) <= Math.max(2, key.length / 2)) return meant([nearest]);
  const like = paths.filter(
    (each) => each !== place && distance(key, each.slice(each.lastIndexOf('.') + 1)) <= key.length / 3,
  );
  return like.length > 0 ? meant(like) : `  ${place}: unknown key; known are ${keys.join(', ')}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  );
}

/** The keys at a path of the schema. If the input has a `name` there, only keys of that alternative. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[], input: unknown): string[] {
  let nodes: unknown[] = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })];
  for (const key of path) nodes = alternatives(nodes).flatMap((node) => childAt(node, key));
  const name = valueAt(input, [...path, 'name']);
  const meant = alternatives(nodes).filter((node) => {
    const nameNode = propertiesOf(node).name;
    return !isPlainObject(nameNode) || nameNode.const === undefined || nameNode.const === name;
  });
  return [...new Set(meant.flatMap((node) => Object.keys(propertiesOf(node))))];
}

const mostPaths = 3;

/** The paths of all keys. Those within a configured object come first. */
function pathsOf(schema: z.ZodType, input: unknown): string[] {
  const paths = new Set<string>();
  const walk = (node: unknown, path: readonly string[]) => {
    for (const each of alternatives([node]))
      for (const [key, child] of Object.entries(propertiesOf(each))) {
        const childPath = [...path, key];
        if (childPath.length > 1) paths.add(childPath.join('.'));
        walk(child, childPath);
      }
  };
  walk(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }), []);
  const presentKeys = (path: string) =>
    path.split('.').filter((_, at, keys) => valueAt(input, keys.slice(0, at + 1)) !== undefined);
  return [...paths].sort(
    (a, b) => presentKeys(b).length - presentKeys(a).length || a.split('.').length - b.split('.').length,
  );
}

function alternatives(nodes: readonly unknown[]): unknown[] {
  return nodes.flatMap((node) =>
    isPlainObject(node)
      ? [
          node,
          ...alternatives([node.anyOf, node.oneOf, node.allOf].flatMap((list) => (Array.isArray(list) ? list : []))),
        ]
      : [],
  );
}

function propertiesOf(node: unknown): Record<string, unknown> {
  return isPlainObject(node) && isPlainObject(node.properties) ? node.properties : {};
}

function childAt(node: unknown, key: PropertyKey): unknown[] {
  const property = propertiesOf(node)[String(key)];
  if (property !== undefined) return [property];
  return isPlainObject(node) && isPlainObject(node.additionalProperties) ? [node.additionalProperties] : [];
}
