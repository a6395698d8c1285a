import type { DetectorConfig } from '../../experts/detectors/create-detector.ts';
import { credentialsOf, type Endpoint, endpointSchema } from '../../experts/llm/endpoint.ts';
import { isPlainObject } from '../config/overrides.ts';

const unnamedSchema = endpointSchema.partial({ name: true });

/**
 * Checks the keys of all endpoints that a detector asks, before any of them is asked: a debate that ends at its judge's
 * missing key has paid for its debaters.
 * @throws InputError where the environment variable of a key is not set
 */
export function checkKeys(config: DetectorConfig): void {
  for (const endpoint of usedEndpoints(config)) credentialsOf({ endpoint, env: process.env });
}

/** An endpoint stands where a model is named, or under that name in `endpoints`, which may hold others. */
function usedEndpoints(value: unknown, named: Readonly<Record<string, unknown>> = {}, name = ''): Endpoint[] {
  if (typeof value === 'string') return Object.hasOwn(named, value) ? usedEndpoints(named[value], {}, value) : [];
  if (Array.isArray(value)) return value.flatMap((each) => usedEndpoints(each, named));
  if (!isPlainObject(value)) return [];
  const parsed = unnamedSchema.safeParse(value).data;
  if (parsed !== undefined) return [{ ...parsed, name: parsed.name ?? (name || new URL(parsed.baseURL).host) }];
  const { endpoints = named, ...others } = value;
  return Object.values(others).flatMap((each) => usedEndpoints(each, isPlainObject(endpoints) ? endpoints : named));
}
