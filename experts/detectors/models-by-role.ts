import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { answerRelevantOptions, type Endpoint, endpointSchema } from '../llm/endpoint.ts';

export const endpointsSchema = z
  .record(z.string().min(1), endpointSchema.partial({ name: true }))
  .default({})
  .describe('endpoints by name, for models that are given as one; called by that name unless they have another');

export const modelSchema = z
  .union([z.string().min(1), endpointSchema])
  .describe('an endpoint with its model, or the name of one of `endpoints`');

/** The endpoint of a role. */
export function endpointOf(options: {
  role: string;
  model: z.infer<typeof modelSchema>;
  endpoints: z.infer<typeof endpointsSchema>;
}): Endpoint {
  const { role, model, endpoints } = options;
  if (typeof model !== 'string') return model;
  if (!Object.hasOwn(endpoints, model))
    throw new InputError(
      `the model of the ${role} is ${JSON.stringify(model)}, but endpoints has ${Object.keys(endpoints).join(', ') || 'none'}; add it there or give an endpoint`,
    );
  const { name = model, ...endpoint } = endpoints[model];
  return { ...endpoint, name };
}

/** What of an endpoint can change what it says; how it is asked for log-probabilities cannot, where they are not. */
export function speakerOptions(endpoint: Endpoint): Record<string, unknown> {
  const { logprobs: _, topLogprobs: __, ...relevant } = answerRelevantOptions(endpoint);
  return relevant;
}
