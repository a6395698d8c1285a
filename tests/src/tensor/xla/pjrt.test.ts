import { expect, it } from 'vitest';
import type { NativeLibrary } from '../../../../src/tensor/xla/native.ts';
import { Pjrt, PjrtError } from '../../../../src/tensor/xla/pjrt.ts';

/** The order of the functions that are called here, by their places in the API. */
const names: Readonly<Record<number, string>> = {
  1: 'message',
  2: 'code',
  3: 'initialize',
  5: 'eventDestroy',
  8: 'eventAwait',
  10: 'create',
  16: 'devices',
  20: 'compile',
  22: 'upload',
  34: 'memory',
  44: 'outputs',
  55: 'execute',
  58: 'free',
  70: 'download',
};

/** A plugin that notes each call: its name and the fields of its arguments. Fields are changed as `answer` says. */
function fake(answer: (name: string, fields: BigUint64Array) => bigint = () => 0n) {
  const calls: { name: string; fields: bigint[] }[] = [];
  const arrays = new Map<bigint, NodeJS.ArrayBufferView>();
  const native: NativeLibrary = {
    api: () => ({
      size: () => 40 + 8 * 130,
      int: (at) => (at === 32 ? 0 : 81),
      pointer: (at) => BigInt((at - 40) / 8 + 1),
    }),
    callable: (pointer) => (args) => {
      if (typeof args === 'bigint') throw new Error('only structs are expected');
      const name = names[Number(pointer) - 1] ?? 'other';
      expect(args[0]).toBe(BigInt(args.byteLength));
      if (name === 'devices') args.set([77n, 1n], 3);
      if (name === 'outputs') args[3] = 1n;
      const error = answer(name, args);
      calls.push({ name, fields: [...args.subarray(2)] });
      return error;
    },
    text: (pointer) => (pointer === 5n ? 'RESOURCE_EXHAUSTED: no room' : 'a name'),
    bytes: () => new Uint8Array(),
    pointerAt: () => 88n,
    address(array) {
      const address = BigInt(1000 + arrays.size);
      arrays.set(address, array);
      return address;
    },
  };
  return { client: new Pjrt(native, { path: 'plugin.so', isGpu: false }), calls, arrays };
}

it('takes the first device, and no option that only GPUs know', () => {
  const { calls } = fake();
  expect(calls.slice(0, 3).map(({ name }) => name)).toEqual(['initialize', 'create', 'devices']);
  expect(calls[1].fields.slice(0, 2)).toEqual([0n, 0n]);
});

it('uploads rows with their type and lengths, and waits until the array may change', () => {
  const { client, calls, arrays } = fake((name, fields) => {
    if (name === 'upload') fields.set([9n, 10n], 2 + 11);
    return 0n;
  });
  const rows = Float32Array.of(1, 2, 3, 4, 5, 6);
  expect(client.upload(rows, { shape: [2, 3], kind: 'float32' })).toBe(10n);
  const [upload, ...after] = calls.slice(calls.findIndex(({ name }) => name === 'upload'));
  expect(arrays.get(upload.fields[1])).toBe(rows);
  expect(upload.fields[2]).toBe(11n);
  expect([...(arrays.get(upload.fields[3]) as BigInt64Array)]).toEqual([2n, 3n]);
  expect(upload.fields[8]).toBe(88n);
  expect(after).toEqual([
    { name: 'eventAwait', fields: [9n] },
    { name: 'eventDestroy', fields: [9n] },
  ]);
});

it('ends a program with a zero, and does not count it', () => {
  const { client, calls, arrays } = fake();
  client.compile('module {}');
  const { fields } = calls[calls.findIndex(({ name }) => name === 'compile')];
  const [, , code, length] = arrays.get(fields[1]) as BigUint64Array;
  expect(Buffer.from(arrays.get(code) as Uint8Array).toString()).toBe('module {}\0');
  expect(length).toBe(9n);
});

it('executes with the inputs that may not be written over, and returns a buffer for each output', () => {
  const { client, calls, arrays } = fake((name, fields) => {
    if (name === 'execute') {
      const [outputs] = arrays.get(fields[2 + 5]) as BigUint64Array;
      (arrays.get(outputs) as BigUint64Array)[0] = 42n;
    }
    return 0n;
  });
  expect(client.execute({ handle: 6n, outputs: 1 }, [3n, 4n], { retained: [1] })).toEqual([42n]);
  const { fields } = calls[calls.findIndex(({ name }) => name === 'execute')];
  const options = arrays.get(fields[1]) as BigUint64Array;
  expect([fields[0], fields[3], fields[4], options.byteLength, options[8]]).toEqual([6n, 1n, 2n, 112, 1n]);
  expect([...(arrays.get(options[7]) as BigInt64Array)]).toEqual([1n]);
  const [inputs] = arrays.get(fields[2]) as BigUint64Array;
  expect([...(arrays.get(inputs) as BigUint64Array)]).toEqual([3n, 4n]);
});

it('says what a plugin says, and whether memory ran out', () => {
  const { client } = fake((name, fields) => {
    if (name === 'message') fields.set([5n, 27n], 3);
    if (name === 'code') fields[3] = 8n;
    return name === 'compile' ? 66n : 0n;
  });
  let thrown: unknown = null;
  try {
    client.compile('module {}');
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(PjrtError);
  expect(thrown).toMatchObject({ message: 'RESOURCE_EXHAUSTED: no room', isOutOfMemory: true });
});

it('frees a buffer whose numbers did not arrive, and the event', () => {
  const { client, calls } = fake((name, fields) => {
    if (name === 'upload') fields.set([9n, 10n], 2 + 11);
    return name === 'eventAwait' ? 66n : 0n;
  });
  expect(() => client.upload(Float32Array.of(1), { shape: [1], kind: 'float32' })).toThrow(PjrtError);
  const after = calls.slice(calls.findIndex(({ name }) => name === 'eventAwait'));
  expect(after.filter(({ name }) => name !== 'other' && name !== 'message' && name !== 'code')).toEqual([
    { name: 'eventAwait', fields: [9n] },
    { name: 'eventDestroy', fields: [9n] },
    { name: 'free', fields: [10n] },
  ]);
});

it('says how much memory is used, and what else the plugin says of it', () => {
  const { client } = fake((name, fields) => {
    // Used, the most so far, and the limit, the last two with whether they are said.
    if (name === 'memory') fields.set([100n, 300n, 0x0101n], 2 + 1);
    return 0n;
  });
  expect(client.memory()).toEqual({ usedBytes: 100, peakBytes: 300, limitBytes: null });
});
