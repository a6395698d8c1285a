import type { DetectorConfig } from '../../experts/detectors/create-detector.ts';
import { credentialsOf, type Endpoint, endpointSchema } from '../../experts/llm/endpoint.ts';
import { isPlainObject } from '../config/overrides.ts';

const unnamedSchema = endpointSchema.partial({ name: true });

/**
 * Checks the keys of all endpoints before the first call, because a debate whose judge lacks a key has already paid for
 * its debaters.
 * @throws InputError for an unset environment variable
 */
export function checkKeys(config: DetectorConfig): void {
  for (const endpoint of usedEndpoints(config)) credentialsOf({ endpoint, env: process.env });
}

/** Endpoints stand beside a model, or under the model's name in `endpoints`, which may hold unused ones. */
function usedEndpoints(value: unknown, named: Readonly<Record<string, unknown>> = {}, name = ''): Endpoint[] {
  if (typeof value === 'string') return Object.hasOwn(named, value) ? usedEndpoints(named[value], {}, value) : [];
  if (Array.isArray(value)) return value.flatMap((each) => usedEndpoints(each, named));
  if (!isPlainObject(value)) return [];
  const parsed = unnamedSchema.safeParse(value).data;
  if (parsed !== undefined) return [{ ...parsed, name: parsed.name ?? (name || new URL(parsed.baseURL).host) }];
  const { endpoints = named, ...others } = value;
  return Object.values(others).flatMap((each) => usedEndpoints(each, isPlainObject(endpoints) ? endpoints : named));
}
