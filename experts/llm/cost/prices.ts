import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { parseYaml } from '../../../src/yaml.ts';

const price = z.number().nonnegative().default(0);

/** Prices of a million tokens. */
export const pricesSchema = z.strictObject({
  inputPerMillion: price,
  cachedInputPerMillion: price.nullable().default(null).describe('null: as much as other input'),
  outputPerMillion: price,
  batchShare: z.number().min(0).max(1).default(0.5).describe('what a batch costs, as a share of these prices'),
});
export type Prices = z.output<typeof pricesSchema>;

const listSchema = z.strictObject({
  date: z
    .string()
    .regex(/^\d{4}-\d{2}(?:-\d{2})?$/, 'must be the day or month that the prices are of, such as 2026-11'),
  models: z.record(z.string(), pricesSchema),
});

export interface PriceList extends z.output<typeof listSchema> {
  /** The list's name in messages, such as "the shipped price list of 2025-08". */
  readonly name: string;
}

const lists = new Map<string, PriceList>();

/**
 * The dated price list of Earshot, or the one that the environment variable EARSHOT_PRICES names instead. The head of
 * the shipped list says why it must be checked.
 * @throws InputError if the variable does not name a price list
 */
export function priceList(): PriceList {
  const path = process.env.EARSHOT_PRICES?.trim() || null;
  const cached = lists.get(path ?? '');
  if (cached !== undefined) return cached;
  const read = loadList(path);
  lists.set(path ?? '', read);
  return read;
}

/** @param path null for the shipped list */
function loadList(path: string | null): PriceList {
  const remedy = 'give it date and models as in the shipped prices.yaml, or unset EARSHOT_PRICES';
  let text: string;
  try {
    text = readFileSync(path ?? new URL('./prices.yaml', import.meta.url), 'utf8');
  } catch (error) {
    throw new InputError(`cannot read the price list ${path} (EARSHOT_PRICES): ${error}; ${remedy}`);
  }
  const parsed = listSchema.safeParse(parseYaml(text, `the price list ${path} is`));
  if (!parsed.success)
    throw new InputError(
      `${path} (EARSHOT_PRICES) is not a price list: ${z.prettifyError(parsed.error).replace(/\s+/g, ' ')}; ${remedy}`,
    );
  const { date } = parsed.data;
  return {
    ...parsed.data,
    name: path === null ? `the shipped price list of ${date}` : `the price list ${path} of ${date}`,
  };
}

/** The prices of an endpoint or else of the price list; null if neither has any. */
export function pricesOf(endpoint: { readonly model: string; readonly prices: Prices | null }): Prices | null {
  const { models } = priceList();
  const listed = [endpoint.model, listedName(endpoint.model)].find((name) => Object.hasOwn(models, name));
  return endpoint.prices ?? (listed === undefined ? null : models[listed]);
}

/** The name without a router's prefix, such as openai/, or a release date, as in the list. */
function listedName(model: string): string {
  return model.replace(/^.*\//, '').replace(/-(?:latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$/, '');
}
