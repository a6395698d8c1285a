import { tolerance } from './golden.ts';
import { onnxNames } from './onnx-model.ts';

/** Rows per call of the ONNX file. */
const batches = [1, 7, 1024] as const;

/** States with the scores that the checkpoint gives them. */
export interface ParityProbe {
  /** The kind of states, for messages: golden, random or extreme. */
  readonly name: string;
  /** Raw, row-major [rows, columns]. */
  readonly states: Float32Array;
  readonly columns: number;
  /** The checkpoint's score of each state, [rows]. */
  readonly expected: Float32Array | Float64Array;
}

export interface Parity {
  readonly runtime: string;
  readonly batches: readonly number[];
  readonly tolerance: number;
  /** The largest difference over all rows and batches. */
  readonly largestDifference: number;
  /** The number of states of each kind. */
  readonly rows: Readonly<Record<string, number>>;
}

/**
 * Compares the scores of an ONNX file with those of the checkpoint that it was made from.
 * @throws Error that names the kind, row and batch of the first difference
 */
export async function checkParity(model: Uint8Array, probes: readonly ParityProbe[]): Promise<Parity> {
  // Loaded on demand, because the native library is large and only an export needs it.
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const session = await InferenceSession.create(model);
  let largestDifference = 0;
  try {
    for (const probe of probes)
      for (const batch of batches)
        for (let start = 0; start < probe.expected.length; start += batch) {
          const end = Math.min(start + batch, probe.expected.length);
          const { columns } = probe;
          const states = probe.states.slice(start * columns, end * columns);
          const state = new Tensor('float32', states, [end - start, columns]);
          const output = await session.run({ [onnxNames.state]: state });
          const scores = output[onnxNames.stopProbability].data;
          for (let row = start; row < end; row++) {
            const [probability, expected] = [Number(scores[row - start]), probe.expected[row]];
            const difference = Math.abs(probability - expected);
            // Written so that NaN fails, too.
            if (!(difference <= tolerance))
              throw new Error(
                `the ONNX file and the checkpoint differ at ${probe.name} state ${row}, in batches of ${batch}: the score is ${probability} and ${expected}, more than ${tolerance} apart`,
              );
            largestDifference = Math.max(largestDifference, difference);
          }
        }
  } finally {
    await session.release();
  }
  return {
    runtime: 'onnxruntime-node',
    batches,
    tolerance,
    largestDifference,
    rows: Object.fromEntries(probes.map(({ name, expected }) => [name, expected.length])),
  };
}
