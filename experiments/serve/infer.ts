import { HttpProblem } from './http-problem.ts';
import type { InferenceRequest, InferenceResponse } from './inference-schemas.ts';
import type { ServedBundle } from './models.ts';
import { jsonLengthHeader, tensorBytes } from './tensors.ts';

/** Names a bundle among those that were served under one name. */
export function versionOf({ sha256 }: ServedBundle): string {
  return sha256.slice(0, 12);
}

/** What the metadata of a model says of its tensors. */
export function tensorsOf({ policy }: ServedBundle) {
  const { columns } = policy.manifest.state;
  return {
    inputs: [{ name: 'state', datatype: 'FP32', shape: [-1, columns] }],
    outputs: [
      { name: 'stop_probability', datatype: 'FP32', shape: [-1] },
      { name: 'action', datatype: 'INT64', shape: [-1] },
    ],
  };
}

/**
 * π(stop) of each state, and 1 where the policy stops.
 * @throws HttpProblem (400) that names the field whose shape or number does not fit
 */
export function infer(bundle: ServedBundle, request: InferenceRequest): Inferred {
  const states = statesOf(bundle, request);
  const { score, threshold } = bundle.policy.definition;
  const stopProbability = score(states);
  const action = BigInt64Array.from(stopProbability, (own) => (own > threshold ? 1n : 0n));
  const data = { stop_probability: stopProbability, action };
  const names = ['stop_probability', 'action'] as const;
  const wanted = request.outputs?.length ? request.outputs : names.map((name) => ({ name, parameters: undefined }));
  const bytes: Buffer[] = [];
  const outputs = wanted.map(({ name, parameters }) => {
    const values = data[name];
    const shape = [values.length];
    const datatype = name === 'action' ? 'INT64' : 'FP32';
    const isBinary = parameters?.binary_data ?? request.parameters?.binary_data_output ?? false;
    if (!isBinary) return { name, shape, datatype, data: Array.from(values, Number) };
    const own = tensorBytes(values);
    bytes.push(own);
    return { name, shape, datatype, parameters: { binary_data_size: own.length } };
  });
  const { name } = bundle;
  return {
    rows: stopProbability.length,
    json: {
      model_name: name,
      model_version: versionOf(bundle),
      ...(request.id !== undefined && { id: request.id }),
      outputs,
    },
    bytes,
  };
}

export interface Inferred {
  readonly rows: number;
  readonly json: InferenceResponse;
  /** Of the outputs that were wanted as bytes, in their order. */
  readonly bytes: readonly Buffer[];
}

/** An answer with binary outputs: its headers and its body. */
export function binaryAnswer({ json, bytes }: Inferred): { headers: Record<string, string>; body: Buffer } {
  const head = Buffer.from(JSON.stringify(json));
  return {
    headers: { [jsonLengthHeader]: String(head.length), 'content-type': 'application/octet-stream' },
    body: Buffer.concat([head, ...bytes]),
  };
}

function statesOf({ policy }: ServedBundle, { inputs: [{ shape, data }] }: InferenceRequest): Float32Array {
  const [rows, columns] = shape;
  const wide = policy.manifest.state.columns;
  if (columns !== wide)
    throw new HttpProblem(400, `states of this model have ${wide} numbers, and the shape is [${rows}, ${columns}]`, {
      field: 'inputs.0.shape.1',
    });
  const states = new Float32Array(rows * columns);
  let count = 0;
  const read = (values: readonly unknown[], place: string) => {
    for (const [index, value] of values.entries()) {
      const rounded = typeof value === 'number' ? Math.fround(value) : Number.NaN;
      if (!Number.isFinite(rounded)) throw notFinite(value, `${place}.${index}`);
      if (count < states.length) states[count] = rounded;
      count++;
    }
  };
  if (!Array.isArray(data[0])) read(data, 'inputs.0.data');
  else
    for (const [index, row] of data.entries()) {
      const field = `inputs.0.data.${index}`;
      if (!Array.isArray(row) || row.length !== columns)
        throw new HttpProblem(400, `${field} must be a row of ${columns} numbers`, { field });
      read(row, field);
    }
  if (count !== states.length)
    throw new HttpProblem(400, `the shape [${rows}, ${columns}] holds ${states.length} numbers, and ${count} came`, {
      field: 'inputs.0.data',
    });
  return states;
}

function notFinite(value: unknown, field: string): HttpProblem {
  const seen = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return new HttpProblem(400, `${field} must be a finite FP32 number, and is ${seen.slice(0, 40)}`, { field });
}
