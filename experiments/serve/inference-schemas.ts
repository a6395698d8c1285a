import { z } from 'zod';

/*
 * Requests and answers of the Open Inference Protocol, version 2
 * (https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md). What a client
 * sends beyond them is left alone, as the protocol wants.
 */

/** States of one request. */
const mostRows = 10_000;

const parameters = z.looseObject({
  binary_data: z.boolean().optional().describe('whether an output comes as bytes after the JSON'),
  binary_data_output: z.boolean().optional().describe('the same for all outputs'),
});

const number = { type: 'number' } as const;

/** The numbers are checked where they are read, one by one: a schema could not say which of them is wrong. */
const tensorData = z.custom<unknown[]>(Array.isArray, 'expected array').meta({
  type: 'array',
  items: { anyOf: [number, { type: 'array', items: number }] },
  description: 'row-major, flat or nested',
});

export const inferenceRequest = z.looseObject({
  id: z.string().max(256).optional().describe('returned with the answer'),
  parameters: parameters.optional(),
  inputs: z
    .array(
      z.looseObject({
        name: z.literal('state'),
        // Not as the tuple that it is: generators of clients know no schema that is `false`.
        shape: z
          .tuple([z.int().min(1).max(mostRows), z.int().min(1)])
          .meta({ description: '[rows, columns of a state]', items: { type: 'integer', minimum: 1 } }),
        datatype: z.literal('FP32'),
        parameters: parameters.optional(),
        data: tensorData,
      }),
    )
    .length(1, 'must be the one input, state'),
  outputs: z
    .array(z.looseObject({ name: z.enum(['stop_probability', 'action']), parameters: parameters.optional() }))
    .optional()
    .describe('outputs wanted; all of them unless given'),
});
export type InferenceRequest = z.output<typeof inferenceRequest>;

export const inferenceResponse = z.object({
  model_name: z.string(),
  model_version: z.string(),
  id: z.string().optional(),
  outputs: z.array(
    z.object({
      name: z.string(),
      shape: z.array(z.int()),
      datatype: z.string(),
      parameters: z.record(z.string(), z.unknown()).optional(),
      data: z.array(z.number()).optional().describe('absent where it follows the JSON as bytes'),
    }),
  ),
});
export type InferenceResponse = z.infer<typeof inferenceResponse>;

const tensor = z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) });

export const modelMetadata = z.object({
  name: z.string(),
  versions: z.array(z.string()),
  platform: z.string(),
  inputs: z.array(tensor),
  outputs: z.array(tensor),
});

export const serverMetadata = z.object({
  name: z.string(),
  version: z.string(),
  extensions: z.array(z.string()),
});
