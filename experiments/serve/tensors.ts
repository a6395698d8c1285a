import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { HttpProblem } from './http-problem.ts';

/*
 * The body of an inference request, as JSON alone or with the binary tensor data extension: JSON of a stated length, and
 * after it the bytes of each input that has `binary_data_size`, little-endian
 * (https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md).
 */

/** The header that says how much of a body is JSON. */
export const jsonLengthHeader = 'inference-header-content-length';

const binaryInputs = z.looseObject({
  inputs: z.array(
    z.looseObject({
      data: z.unknown().optional(),
      parameters: z.looseObject({ binary_data_size: z.int().min(0).optional() }).optional(),
    }),
  ),
});

/**
 * The JSON of a body, with the numbers of binary inputs as its `data`.
 * @param jsonLength value of the header; undefined where the whole body is JSON
 * @throws HttpProblem (400) where the lengths do not fit
 */
export function inferenceBody(body: Buffer, jsonLength: string | undefined): unknown {
  const length = jsonLength === undefined ? body.length : Number(jsonLength);
  if (!Number.isInteger(length) || length < 0 || length > body.length)
    throw new HttpProblem(400, `${jsonLength} is not a length within the body, which has ${body.length} bytes`, {
      field: jsonLengthHeader,
    });
  const json = jsonOrUndefined(body.toString('utf8', 0, length));
  if (json === undefined) throw new HttpProblem(400, 'the body is not JSON');
  if (jsonLength === undefined) return json;
  const parsed = binaryInputs.safeParse(json);
  // Whatever is wrong with it, the schema of the request says so.
  if (!parsed.success) return json;
  let start = length;
  const inputs = parsed.data.inputs.map((input, index) => {
    const size = input.parameters?.binary_data_size;
    if (size === undefined) return input;
    const field = `inputs.${index}.parameters.binary_data_size`;
    if (input.data !== undefined) throw new HttpProblem(400, 'an input has either data or binary data', { field });
    if (size % 4 !== 0 || start + size > body.length)
      throw new HttpProblem(
        400,
        `${size} bytes of FP32 are announced, and ${body.length - start} follow the JSON; the size must be a multiple of 4 and be there`,
        { field },
      );
    const data = floatsAt(body, { start, count: size / 4 });
    start += size;
    return { ...input, data };
  });
  if (start !== body.length)
    throw new HttpProblem(
      400,
      `${body.length - start} bytes follow the JSON and its binary data, and nothing says what they are`,
      { field: 'inputs' },
    );
  return { ...parsed.data, inputs };
}

function floatsAt(body: Buffer, { start, count }: { start: number; count: number }): number[] {
  const view = new DataView(body.buffer, body.byteOffset + start, count * 4);
  return Array.from({ length: count }, (_, index) => view.getFloat32(index * 4, true));
}

/** The bytes of numbers, little-endian. */
export function tensorBytes(data: Float32Array | BigInt64Array): Buffer {
  const bytes = Buffer.alloc(data.byteLength);
  for (let index = 0; index < data.length; index++) {
    const value = data[index];
    if (typeof value === 'bigint') bytes.writeBigInt64LE(value, index * 8);
    else bytes.writeFloatLE(value, index * 4);
  }
  return bytes;
}
