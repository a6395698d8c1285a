import { type FileHandle, open, readFile, stat, truncate } from 'node:fs/promises';

/** Length of a row's key: half a SHA-256. */
export const KEY_BYTES = 16;
const MAX_READ_BYTES = 16 * 2 ** 20;
/** Reading a few more rows is cheaper than another call of the operating system. */
const MAX_GAP_ROWS = 64;

/**
 * Numbered rows in two append-only files: `<name>.f32`, raw float32 rows, and `<name>.keys`, the hash of each row's
 * text. Only the process that created a segment writes to it, and a key reaches the disk after its row. So a killed
 * process leaves at worst rows without keys, and a partial key at the end. Readers ignore both, nothing needs repair,
 * and any number of processes can write into one folder, each to its own segment.
 */
export function embeddingSegment({ path, dimensions }: { path: string; dimensions: number }) {
  /** The keys of all whole rows. */
  async function readKeys(): Promise<Buffer> {
    const [keys, vectors] = await Promise.all([readFile(`${path}.keys`), stat(`${path}.f32`)]);
    const rows = Math.min(Math.floor(keys.length / KEY_BYTES), Math.floor(vectors.size / (4 * dimensions)));
    return keys.subarray(0, rows * KEY_BYTES);
  }

  /** Adds rows; one call at a time. Throws the system's error if they cannot be written. */
  async function append({ keys, vectors }: { keys: Buffer; vectors: Float32Array }): Promise<void> {
    await appendWhole(`${path}.f32`, Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength));
    await appendWhole(`${path}.keys`, keys);
  }

  /** Calls `visit` with each requested row, in ascending order. The vector is valid during the call only. */
  async function read(rows: readonly number[], visit: (position: number, vector: Float32Array) => void): Promise<void> {
    const rowBytes = 4 * dimensions;
    const maxRows = Math.max(1, Math.floor(MAX_READ_BYTES / rowBytes));
    const file = await open(`${path}.f32`, 'r');
    try {
      for (let first = 0; first < rows.length; ) {
        let next = first + 1;
        while (next < rows.length && rows[next] - rows[next - 1] <= MAX_GAP_ROWS && rows[next] - rows[first] < maxRows)
          next++;
        const block = new Float32Array((rows[next - 1] - rows[first] + 1) * dimensions);
        await readWhole({ file, path, target: block, position: rows[first] * rowBytes });
        for (let position = first; position < next; position++) {
          const offset = (rows[position] - rows[first]) * dimensions;
          visit(position, block.subarray(offset, offset + dimensions));
        }
        first = next;
      }
    } finally {
      await file.close();
    }
  }

  return { readKeys, append, read };
}

export type EmbeddingSegment = ReturnType<typeof embeddingSegment>;

/** Appends all of the bytes, or leaves the file as it was. */
async function appendWhole(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'a');
  try {
    const { size } = await file.stat();
    try {
      await file.appendFile(bytes);
      await file.datasync();
    } catch (error) {
      // If this fails too, the rest stays after the last whole row, where readers ignore it.
      await truncate(path, size).catch(() => undefined);
      throw error;
    }
  } finally {
    await file.close();
  }
}

async function readWhole(options: {
  file: FileHandle;
  path: string;
  target: Float32Array;
  position: number;
}): Promise<void> {
  const { file, path, target, position } = options;
  const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0)
      throw new Error(`${path}.f32 ended at byte ${position + done}, ${bytes.length - done} bytes too early`);
    done += bytesRead;
  }
}
