import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { anyKey, optionLines } from './option-lines.ts';
import type { PlainObject } from './overrides.ts';

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
function configProblems({ schema, input, error }: { schema: z.ZodType; input: unknown; error: z.ZodError }): string {
  const options = optionLines(schema).map(({ path }) => ({
    path: path.replace(/\[[^\]]*\]/g, '').split('.'),
    alternative: /\[([^\]]*)\]\.[^.]*$/.exec(path)?.[1],
  }));
  return error.issues
    .flatMap((issue) => withinAlternatives(issue))
    .flatMap((issue) => {
      const place = issue.path.join('.');
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map(
          (key) => `  ${[...issue.path, key].join('.')}: ${unknownKey(key, { at: issue.path, options, input })}`,
        );
      const value = valueAt(input, issue.path);
      // Of several kinds of value none can be told to be meant, nor which of their keys are known.
      if (value === undefined && issue.code === 'invalid_union')
        return issue.discriminator === undefined
          ? `  ${place}: is missing`
          : `  ${place}: missing beside what is set there; ${issue.message.replace(/^.*Expected /, 'give ')}`;
      const isShown = value !== undefined && !issue.path.some((part) => MAY_HOLD_SECRET.test(String(part)));
      const actual = isShown ? ` (found ${typeof value === 'number' ? value : shown(value)})` : '';
      const message = issue.message.replace(
        /^Invalid input: expected (.*), received undefined$/,
        'is missing; give a $1',
      );
      return `  ${place || 'the file'}: ${message}${actual}`;
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

interface Option {
  readonly path: readonly string[];
  /** The alternative of the object that has the option, where there are several. */
  readonly alternative: string | undefined;
}

const mostPaths = 3;

function unknownKey(
  key: string,
  { at, options, input }: { at: readonly PropertyKey[]; options: readonly Option[]; input: unknown },
): string {
  const place = [...at, key].join('.');
  if (removedOptions.some((option) => `.${place}`.endsWith(`.${option}`)))
    return 'removed in 0.3.0; leave the option out (CHANGELOG.md says what to use instead)';
  const meant = (names: readonly string[]) => `unknown key; did you mean ${names.slice(0, mostPaths).join(' or ')}?`;
  const paths = pathsOf(options, input).filter((path) => path !== place);
  const elsewhere = paths.filter((path) => path.endsWith(`.${key}`));
  if (elsewhere.length > 0) return meant(elsewhere);
  const keys = keysAt(options, { at, input });
  if (keys.length === 0) return 'unknown key';
  const nearest = closest(key, keys);
  if (distance(key, nearest) <= Math.max(2, key.length / 2)) return meant([nearest]);
  const like = paths.filter((path) => distance(key, path.slice(path.lastIndexOf('.') + 1)) <= key.length / 3);
  return like.length > 0 ? meant(like) : `unknown key; known are ${keys.join(', ')}`;
}

/** Options of earlier versions. */
const removedOptions = [
  ...['method.firstRung', 'method.factor', 'method.sampler', 'agent.preset', 'agent.pairing', 'agent.lastPost'],
  ...['agent.normalizer', 'imitation.rollout', 'imitation.misleadingPenalty', 'imitation.otherExpertSampling'],
  ...['ppo.valueGain', 'prompt', 'promptTokens', 'reading', 'state.components'],
];

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  );
}

/** The keys at a place. If the input has a `name` there, only keys of that alternative. */
function keysAt(options: readonly Option[], { at, input }: { at: readonly PropertyKey[]; input: unknown }): string[] {
  const here = options.filter(
    ({ path }) =>
      path.length === at.length + 1 && at.every((key, index) => [String(key), anyKey].includes(path[index])),
  );
  const name = valueAt(input, [...at, 'name']);
  const ofName = here.filter(({ alternative }) => alternative === name);
  return [...new Set((ofName.length > 0 ? ofName : here).map(({ path }) => path[at.length]))];
}

/** The paths of all keys. Those within a configured object come first. */
function pathsOf(options: readonly Option[], input: unknown): string[] {
  const presentKeys = (path: readonly string[]) =>
    path.filter((_, index) => valueAt(input, path.slice(0, index + 1)) !== undefined).length;
  const paths = options
    .map(({ path }) => path)
    .filter((path) => path.length > 1 && !path.includes(anyKey))
    .sort((a, b) => presentKeys(b) - presentKeys(a) || a.length - b.length);
  return [...new Set(paths.map((path) => path.join('.')))];
}
