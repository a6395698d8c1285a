import * as z from 'zod/mini';
import { InputError } from '../../src/errors.ts';
import { bundleFiles, parseBundleJson } from './manifest.ts';
import { actionCount, type PolicyNetwork } from './network.ts';

const tensorSchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int()),
  data_offsets: z.tuple([z.int(), z.int()]),
});
const headerSchema = z.record(z.string(), z.union([tensorSchema, z.record(z.string(), z.string())]));

/**
 * Reads `policy.safetensors`.
 * @param options.columns numbers per state
 * @throws InputError if an array is missing, or its size does not fit the states
 */
export function readWeights(file: Uint8Array, { columns }: { columns: number }): PolicyNetwork {
  const name = bundleFiles.weights;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = parseBundleJson(new TextDecoder().decode(file.subarray(8, start)), { name, schema: headerSchema });
  const bytesOf = (array: string, dtype: string) => {
    const entry = z.safeParse(tensorSchema, header[array]);
    if (!entry.success || entry.data.dtype !== dtype)
      throw new InputError(`${name} holds no ${dtype} array ${array}; export the run again with this version`);
    const [from, to] = entry.data.data_offsets;
    // Copied, because an array's offset in the file need not be a multiple of its element size.
    return new Uint8Array(file.subarray(start + from, start + to)).buffer;
  };
  const floats = (array: string) => new Float32Array(bytesOf(array, 'F32'));
  const doubles = (array: string) => new Float64Array(bytesOf(array, 'F64'));
  const b1 = floats('b1');
  const network: PolicyNetwork = {
    hidden: b1.length,
    layers: { w1: floats('w1'), b1, w2: floats('w2'), b2: floats('b2'), w3: floats('w3'), b3: floats('b3') },
    moments: { mean: doubles('mean'), variance: doubles('variance') },
  };
  const { layers } = network;
  if (layers.w1.length !== columns * b1.length || layers.b3.length !== actionCount)
    throw new InputError(
      `${name} and the manifest disagree: states of ${columns} numbers and ${b1.length} hidden units, but w1 holds ${layers.w1.length}`,
    );
  return network;
}
