import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InputError, onDisk } from '../src/errors.ts';
import { jsonOrUndefined } from '../src/json.ts';

export type NamedArrays = Readonly<Record<string, NamedArray>>;
/** An array of as many numbers as its shape says, row-major; a scalar has the shape []. */
export interface NamedArray {
  readonly shape: readonly number[];
  readonly data: Float64Array | Float32Array | Int32Array | Uint8Array;
}

/** Widest first: in this order, every array starts at a multiple of its element size. */
const dtypes = { F64: Float64Array, F32: Float32Array, I32: Int32Array, U8: Uint8Array } as const;
const dtypeNames = ['F64', 'F32', 'I32', 'U8'] as const;

const dimension = z.number().int().nonnegative();
const tensorSchema = z.strictObject({
  dtype: z.enum(dtypeNames),
  shape: z.array(dimension),
  data_offsets: z.tuple([dimension, dimension]),
});
const headerSchema = z.object({ __metadata__: z.record(z.string(), z.string()) }).catchall(tensorSchema);

/** Every header starts like this, so that the digest's position is known. It is blank while the file is hashed. */
const headerStart = '{"__metadata__":{"sha256":"';
const blankDigest = '0'.repeat(64);
const digestOffset = 8 + headerStart.length;

/** Node cannot read a larger file at once. */
const mostBytes = 2 ** 31 - 1;

/**
 * Makes a safetensors file (https://github.com/huggingface/safetensors): the header's length (8 bytes, little-endian),
 * a JSON header with dtype, shape and byte range of every array, then the arrays without gaps. The metadata start with
 * `sha256`, the hash of the whole file with 64 zeros in place of the hash.
 * @throws InputError for more than 2 GiB; Error for an array that does not fit its shape
 */
export function tensorFile(content: { arrays: NamedArrays; metadata: Readonly<Record<string, string>> }): Buffer {
  const arrays = Object.entries(content.arrays).map(([name, array]) => ({ name, array, dtype: dtypeOf(name, array) }));
  arrays.sort((a, b) => dtypeNames.indexOf(a.dtype) - dtypeNames.indexOf(b.dtype));

  const header = new Map<string, unknown>([['__metadata__', { sha256: blankDigest, ...content.metadata }]]);
  let end = 0;
  for (const { name, array, dtype } of arrays) {
    header.set(name, { dtype, shape: array.shape, data_offsets: [end, end + array.data.byteLength] });
    end += array.data.byteLength;
  }
  const headerText = `{${Array.from(header, ([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`;
  const headerBytes = Buffer.from(
    headerText.padEnd(headerText.length + ((8 - (Buffer.byteLength(headerText) % 8)) % 8)),
  );
  if (8 + headerBytes.length + end > mostBytes)
    throw new InputError(
      `a checkpoint of ${8 + headerBytes.length + end} bytes is over the limit of ${mostBytes}; train fewer agents in one run`,
    );

  const file = Buffer.alloc(8 + headerBytes.length + end);
  file.writeBigUInt64LE(BigInt(headerBytes.length));
  headerBytes.copy(file, 8);
  let offset = 8 + headerBytes.length;
  for (const { array } of arrays) {
    // Copied as they are in memory: every machine that this Node runs on is little-endian, like the format.
    file.set(new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength), offset);
    offset += array.data.byteLength;
  }
  file.write(createHash('sha256').update(file).digest('hex'), digestOffset, 'latin1');
  return file;
}

/**
 * Reads a file that `tensorFile` made and copies its arrays.
 * @throws InputError for a file that cannot be read, is cut short, was altered or is something else
 */
export function readTensorFile(path: string): { arrays: NamedArrays; metadata: Record<string, string> } {
  const file = onDisk(`read the checkpoint ${path}`, () => readFileSync(path));
  if (file.toString('latin1', 8, digestOffset) !== headerStart.slice(0, Math.max(0, file.length - 8)))
    throw new InputError(`${path} is not a checkpoint of Earshot; give a file from a run's checkpoints/ folder`);
  const start = isWhole(file) ? 8 + Number(file.readBigUInt64LE()) : 8;
  const header = headerSchema.safeParse(jsonOrUndefined(file.toString('utf8', 8, start))).data;
  if (header === undefined)
    throw new InputError(
      `${path} is corrupt: its ${file.length} bytes do not match the SHA-256 stored in it, because it was cut short or altered; delete it to go on from the checkpoint before`,
    );
  const { __metadata__: metadata, ...tensors } = header;
  const { sha256: _, ...rest } = metadata;
  const arrays = Object.entries(tensors).map(([name, { dtype, shape, data_offsets }]) => {
    const [from, to] = data_offsets;
    // Copied, because an array's offset in the file need not be a multiple of its element size.
    const bytes = new Uint8Array(file.subarray(start + from, start + to));
    return [name, { shape, data: new dtypes[dtype](bytes.buffer) }] as const;
  });
  return { arrays: Object.fromEntries(arrays), metadata: rest };
}

/** Whether a file's hash is the one that stands in it, which is blank from then on. */
function isWhole(file: Buffer): boolean {
  const end = digestOffset + blankDigest.length;
  if (file.length < end) return false;
  const sha256 = file.toString('latin1', digestOffset, end);
  file.write(blankDigest, digestOffset, 'latin1');
  return createHash('sha256').update(file).digest('hex') === sha256;
}

function dtypeOf(name: string, { shape, data }: NamedArray): (typeof dtypeNames)[number] {
  const size = shape.reduce((product, length) => product * length, 1);
  if (size !== data.length)
    throw new Error(
      `array ${name} has shape [${shape.join(', ')}], that is ${size} elements, but holds ${data.length}`,
    );
  return dtypeNames.find((dtype) => data instanceof dtypes[dtype])!;
}
