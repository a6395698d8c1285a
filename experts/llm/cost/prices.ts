import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseYaml } from '../../../src/yaml.ts';

const price = z.number().nonnegative().default(0);

/** What a model's tokens cost, for a million of them. */
export const pricesSchema = z.strictObject({
  inputPerMillion: price,
  cachedInputPerMillion: price.nullable().default(null).describe('null: as much as other input'),
  outputPerMillion: price,
});
export type Prices = z.output<typeof pricesSchema>;

const listSchema = z.strictObject({ date: z.string(), models: z.record(z.string(), pricesSchema) });
type PriceList = z.output<typeof listSchema>;

let shipped: PriceList | null = null;

/** The dated price list that ships with Earshot. Its head says why it must be checked. */
function priceList(): PriceList {
  const url = new URL('./prices.yaml', import.meta.url);
  shipped ??= listSchema.parse(parseYaml(readFileSync(url, 'utf8'), 'prices.yaml is'));
  return shipped;
}

/** The month of the shipped prices. */
export function priceListDate(): string {
  return priceList().date;
}

/** The prices of an endpoint: its own, or those of the shipped list. Null where neither knows any. */
export function pricesOf(endpoint: { readonly model: string; readonly prices: Prices | null }): Prices | null {
  return endpoint.prices ?? priceList().models[listedName(endpoint.model)] ?? null;
}

/** The list has neither a router's prefix, such as openai/, nor the date of a release. */
function listedName(model: string): string {
  return model.replace(/^.*\//, '').replace(/-(?:latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$/, '');
}
