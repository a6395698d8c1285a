import type { z } from 'zod';
import { isSameWord } from './plain-text.ts';

/**
 * Reads a value by a schema in which capitals and punctuation decide nothing: "Yes." is "yes" where the schema lists it,
 * and "Verdict" is the key "verdict". Everything else must fit as it is.
 */
export function parseLeniently<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed;
  const corrected = parsed.error.issues.reduce<unknown>((now, issue) => withCorrection(now, issue), value);
  const again = schema.safeParse(corrected);
  // The first problem is the one to tell the model: it speaks of what the model wrote.
  return again.success ? again : parsed;
}

function withCorrection(value: unknown, issue: z.core.$ZodIssue): unknown {
  const [key, ...rest] = issue.path;
  if (key === undefined) return matched(value, issue);
  if (Array.isArray(value)) {
    return value.map((item, index) => (index === key ? withCorrection(item, { ...issue, path: rest }) : item));
  }
  if (typeof value !== 'object' || value === null || typeof key !== 'string') return value;
  const entries = Object.entries(value);
  const own = entries.find(([name]) => name === key) ?? onlyOne(entries.filter(([name]) => isSameWord(name, key)));
  if (own === undefined) return value;
  const others = entries.filter((entry) => entry !== own);
  return Object.fromEntries([...others, [key, withCorrection(own[1], { ...issue, path: rest })]]);
}

/** The listed value that a string is, but for capitals and punctuation; otherwise the string. */
function matched(value: unknown, issue: z.core.$ZodIssue): unknown {
  if (typeof value !== 'string') return value;
  // A key that was found under another spelling has not been compared with its values yet, so `values` may be absent.
  if (issue.code !== 'invalid_value') return value;
  const options = issue.values.filter((option) => typeof option === 'string');
  return onlyOne(options.filter((option) => isSameWord(option, value))) ?? value;
}

function onlyOne<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}
