import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { answerRelevantOptions, type Endpoint, endpointSchema } from '../llm/endpoint.ts';

/** An endpoint's name is for people only, so it is optional here. */
const unnamedSchema = endpointSchema.partial({ name: true });

export const endpointsSchema = z
  .record(z.string().min(1), unnamedSchema)
  .default({})
  .describe(
    'endpoints by name, for models that refer to one; the name is also used in messages unless the endpoint has its own',
  );

export const modelSchema = z
  .union([z.string().min(1), unnamedSchema])
  .describe('an endpoint with its model, or the name of one of `endpoints`');

type Model = z.output<typeof modelSchema>;
type Endpoints = z.output<typeof endpointsSchema>;

/**
 * The endpoint of a role. The default name is the host, which distinguishes servers of the same model.
 * @throws InputError if `endpoints` has no endpoint of that name
 */
export function endpointOf({ role, model, endpoints }: { role: string; model: Model; endpoints: Endpoints }): Endpoint {
  if (typeof model !== 'string') return { ...model, name: model.name ?? new URL(model.baseURL).host };
  if (!Object.hasOwn(endpoints, model))
    throw new InputError(
      `the model of the ${role} is ${JSON.stringify(model)}, but endpoints has ${Object.keys(endpoints).join(', ') || 'none'}; add it there or give an endpoint`,
    );
  const { name = model, ...endpoint } = endpoints[model];
  return { ...endpoint, name };
}

/** @throws InputError if several samples would be equal */
export function checkSamples(endpoint: Endpoint, { samples, asker }: { samples: number; asker: string }): void {
  if (samples > 1 && endpoint.temperature === 0)
    throw new InputError(
      `${asker}: ${samples} samples of ${endpoint.name} at temperature 0 are one answer ${samples} times; set a temperature above 0, or samples to 1`,
    );
}

/**
 * The endpoints of a detector's roles. A role without a model gets that of `byDefault`.
 * @throws InputError if a model is the name of no endpoint
 */
export function endpointsByRole<Role extends string>(options: {
  models: { readonly [role in Role]?: Model | undefined };
  byDefault: NoInfer<Role>;
  endpoints: Endpoints;
  /** The temperature of every call, instead of the endpoints' own. */
  temperature?: number | null;
}): (role: Role) => Endpoint {
  const { byDefault, endpoints, temperature } = options;
  const models: Readonly<Record<string, Model | undefined>> = options.models;
  const byRole = new Map<string, Endpoint>();
  for (const [role, model] of Object.entries(models)) {
    if (model === undefined) continue;
    const endpoint = endpointOf({ role, model, endpoints });
    byRole.set(role, temperature === undefined ? endpoint : { ...endpoint, temperature });
  }
  return (role) => byRole.get(role) ?? byRole.get(byDefault)!;
}

/** The settings of an endpoint that can change a speech. A speech that was cut off counts, too. */
export function speakerOptions(endpoint: Endpoint): Record<string, unknown> {
  return { ...answerRelevantOptions(endpoint), maxTokens: endpoint.maxTokens };
}
