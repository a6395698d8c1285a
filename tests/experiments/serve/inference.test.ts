import { describe, expect, it } from 'vitest';
import { policyOfBundle } from '../../../experiments/stop-agent/bundle-folder.ts';
import { dimensions } from '../../checkpoints/policy/small-bundle.ts';
import { json, mixedBundle, smallServer } from './small-server.ts';

const states = Float32Array.from({ length: 3 * dimensions }, (_, index) => Math.sin(index));
const input = (more: Record<string, unknown> = {}) => ({
  name: 'state',
  shape: [3, dimensions],
  datatype: 'FP32',
  data: [...states],
  ...more,
});

async function server() {
  const folder = await mixedBundle();
  const own = await smallServer({ bundles: { small: folder } });
  const expected = (await policyOfBundle(folder)).definition.score(states);
  const infer = async (body: unknown) => {
    const url = '/v2/models/small/infer';
    const response = await own.app.inject({ method: 'POST', url, payload: JSON.stringify(body), headers: json });
    return { status: response.statusCode, body: response.json() };
  };
  return { ...own, expected, infer };
}

describe('the Open Inference Protocol', () => {
  it('says what the server and its models are', async () => {
    const { get, models } = await server();
    const { sha256 } = models.get('small');
    const version = sha256.slice(0, 12);
    expect((await get('/v2')).body).toMatchObject({
      name: 'earshot',
      extensions: ['binary_tensor_data'],
    });
    expect((await get('/v2/models/small')).body).toEqual({
      name: 'small',
      versions: [version],
      platform: 'earshot_policy',
      inputs: [{ name: 'state', datatype: 'FP32', shape: [-1, dimensions] }],
      outputs: [
        { name: 'stop_probability', datatype: 'FP32', shape: [-1] },
        { name: 'action', datatype: 'INT64', shape: [-1] },
      ],
    });
    for (const path of [
      '/v2/health/live',
      '/v2/health/ready',
      '/v2/models/small/ready',
      `/v2/models/small/versions/${version}/ready`,
    ])
      expect((await get(path)).status, path).toBe(200);
    expect((await get('/v2/models/small/versions/1')).body.error).toContain(`served in version ${version} only`);
    expect((await get('/v2/models/other/ready')).body).toEqual({
      error: 'there is no model of this name; served are small',
      field: 'model',
    });
  });

  it('decides states, flat and nested, and gives the outputs that are wanted', async () => {
    const { infer, expected } = await server();
    const { status, body } = await infer({ id: 'q', inputs: [input()] });
    expect(status).toBe(200);
    expect(body).toMatchObject({ model_name: 'small', id: 'q' });
    expect(body.outputs).toEqual([
      { name: 'stop_probability', datatype: 'FP32', shape: [3], data: [...expected] },
      { name: 'action', datatype: 'INT64', shape: [3], data: [...expected].map((value) => Number(value > 0.5)) },
    ]);
    const rows = [0, 1, 2].map((row) => [...states.subarray(row * dimensions, (row + 1) * dimensions)]);
    const nested = await infer({ inputs: [input({ data: rows })], outputs: [{ name: 'action' }] });
    expect(nested.body.outputs).toEqual([body.outputs[1]]);
  });

  it('takes and gives tensors as bytes', async () => {
    const { app, expected } = await server();
    const bytes = Buffer.from(states.buffer);
    const own = input({ data: undefined, parameters: { binary_data_size: bytes.length } });
    const head = Buffer.from(
      JSON.stringify({
        inputs: [own],
        outputs: [{ name: 'stop_probability', parameters: { binary_data: true } }, { name: 'action' }],
      }),
    );
    const response = await app.inject({
      method: 'POST',
      url: '/v2/models/small/infer',
      payload: Buffer.concat([head, bytes]),
      headers: { 'inference-header-content-length': String(head.length), 'content-type': 'application/octet-stream' },
    });
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('application/octet-stream');
    const length = Number(response.headers['inference-header-content-length']);
    const answer = JSON.parse(response.rawPayload.toString('utf8', 0, length));
    expect(answer.outputs).toMatchObject([{ parameters: { binary_data_size: 12 } }, { data: { length: 3 } }]);
    const found = new Float32Array(new Uint8Array(response.rawPayload.subarray(length)).buffer);
    expect([...found]).toEqual([...expected]);
  });

  it('refuses what does not fit, by its field', async () => {
    const { infer, app } = await server();
    const wrong = (values: readonly unknown[]) => input({ data: [...values, ...states.subarray(values.length)] });
    for (const [own, field, said] of [
      [input({ shape: [3, 5] }), 'inputs.0.shape.1', `states of this model have ${dimensions} numbers`],
      [input({ shape: [2, dimensions] }), 'inputs.0.data', 'holds 12 numbers, and 18 came'],
      [input({ shape: [10_001, dimensions] }), 'inputs.0.shape.0', 'Too big'],
      [input({ shape: [0, dimensions] }), 'inputs.0.shape.0', 'Too small'],
      [input({ shape: [3] }), 'inputs.0.shape', ''],
      [input({ datatype: 'FP64' }), 'inputs.0.datatype', 'FP32'],
      [input({ name: 'x' }), 'inputs.0.name', 'state'],
      [input({ data: undefined }), 'inputs.0.data', 'expected array'],
      [wrong([1, null]), 'inputs.0.data.1', 'must be a finite FP32 number, and is null'],
      [wrong([1e39]), 'inputs.0.data.0', 'and is 1e+39'],
      [wrong([1, 2, 'NaN']), 'inputs.0.data.2', 'and is "NaN"'],
      [input({ data: [[1, 2], [3], [4]] }), 'inputs.0.data.0', `a row of ${dimensions} numbers`],
    ] as const) {
      const { status, body } = await infer({ inputs: [own] });
      expect({ status, field: body.field }, said).toEqual({ status: 400, field });
      expect(body.error).toContain(said);
    }
    expect((await infer({ inputs: [] })).body.field).toBe('inputs');
    expect((await infer({ inputs: [input()], outputs: [{ name: 'logits' }] })).body.field).toBe('outputs.0.name');

    const binary = (head: unknown, bytes: Buffer, length?: string) => {
      const text = Buffer.from(JSON.stringify(head));
      return app.inject({
        method: 'POST',
        url: '/v2/models/small/infer',
        payload: Buffer.concat([text, bytes]),
        headers: { 'inference-header-content-length': length ?? String(text.length) },
      });
    };
    const sized = (binary_data_size: number) => ({
      inputs: [input({ data: undefined, parameters: { binary_data_size } })],
    });
    const floats = (value: number) => Buffer.from(states.map((each, index) => (index === 4 ? value : each)).buffer);
    for (const [response, field] of [
      [await binary(sized(72), floats(Number.NaN)), 'inputs.0.data.4'],
      [await binary(sized(72), floats(Number.POSITIVE_INFINITY)), 'inputs.0.data.4'],
      [await binary(sized(72), Buffer.alloc(70)), 'inputs.0.parameters.binary_data_size'],
      [await binary(sized(71), Buffer.alloc(71)), 'inputs.0.parameters.binary_data_size'],
      [await binary(sized(72), Buffer.alloc(80)), 'inputs'],
      [await binary(sized(72), floats(0), '99999'), 'inference-header-content-length'],
      [await binary(sized(72), floats(0), '-1'), 'inference-header-content-length'],
      [
        await binary({ inputs: [input({ parameters: { binary_data_size: 72 } })] }, floats(0)),
        'inputs.0.parameters.binary_data_size',
      ],
    ] as const) {
      expect(response.statusCode, response.body).toBe(400);
      expect(response.json().field).toBe(field);
    }
  });
});
