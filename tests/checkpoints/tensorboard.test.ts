import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTensorBoard } from '../../checkpoints/tensorboard.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const now = () => 1_700_000_000_250;

function written(
  write: (writer: ReturnType<typeof openTensorBoard>) => void,
  resumeStep: number | null = null,
): Buffer {
  const folder = join(temporaryFolder(), 'run');
  const writer = openTensorBoard(folder, { resumeStep, now });
  write(writer);
  writer.close();
  const [name] = readdirSync(folder);
  expect(name).toMatch(/^events\.out\.tfevents\.1700000000\./);
  return readFileSync(join(folder, name));
}

it('starts as every TensorBoard file does', () => {
  const file = written(() => {});
  // Length 24 and its masked checksum are the first twelve bytes of any event file.
  expect(file.toString('hex', 0, 12)).toBe('1800000000000000a37f4b22');
  expect(file.toString('latin1', 12 + 9, 12 + 24)).toBe('\x1a\x0dbrain.Event:2');
  expect(file.length).toBe(12 + 24 + 4);
});

it('checks its records the way the reader in this test does', () => {
  // The CRC-32C of "123456789" is 0xe3069283 in every table of CRCs; its mask worked out by hand.
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(masked(0xe3069283)).toBe(0xc78ab0e5);
});

it('holds steps, wall times and scalars', () => {
  const file = written((writer) => {
    writer.scalars(3, { 'loss/policy': -0.25, 'eval/macroF1': 0.5 });
    writer.scalars(5_000_000_000, { diverged: Number.NaN });
  });
  expect(records(file).map(decodeEvent)).toEqual([
    { wallTime: 1_700_000_000.25, fileVersion: 'brain.Event:2' },
    {
      wallTime: 1_700_000_000.25,
      step: 3,
      values: [
        { tag: 'loss/policy', value: -0.25 },
        { tag: 'eval/macroF1', value: 0.5 },
      ],
    },
    { wallTime: 1_700_000_000.25, step: 5_000_000_000, values: [{ tag: 'diverged', value: Number.NaN }] },
  ]);
});

it('holds the settings of a run as the plugin of hyperparameters reads them', () => {
  const file = written((writer) => writer.hyperParameters({ seed: 3, 'agent.algorithm': 'settled', isOn: true }));
  const [, event] = records(file);
  const one = (message: Buffer, number: number) => {
    const found = fields(message).filter((field) => field.number === number);
    expect(found).toHaveLength(1);
    return found[0].bytes;
  };
  const value = one(one(event, 5), 1);
  expect(one(value, 1).toString()).toBe('_hparams_/session_start_info');
  const plugin = one(one(value, 9), 1);
  expect(one(plugin, 1).toString()).toBe('hparams');
  const settings = fields(one(one(plugin, 2), 3)).map(({ bytes }) => {
    const [{ number, bytes: text, varint }] = fields(one(bytes, 2));
    const held = { 2: () => text.readDoubleLE(), 3: () => text.toString(), 4: () => varint === 1 }[number];
    return [one(bytes, 1).toString(), held?.()];
  });
  expect(Object.fromEntries(settings)).toEqual({ seed: 3, 'agent.algorithm': 'settled', isOn: true });
});

it('tells TensorBoard on resuming to drop what came after the checkpoint', () => {
  const events = records(written((writer) => writer.scalars(41, { loss: 1 }), 40)).map(decodeEvent);
  expect(events[1]).toEqual({ wallTime: 1_700_000_000.25, step: 41, sessionStatus: 1 });
  expect(events).toHaveLength(3);
});

it('opens a file of its own each time', () => {
  const folder = temporaryFolder();
  for (let session = 0; session < 2; session++) openTensorBoard(folder, { resumeStep: null, now }).close();
  expect(readdirSync(folder)).toHaveLength(2);
});

it('says what is wrong with a folder that cannot be one', () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  expect(() => openTensorBoard(path, { resumeStep: null })).toThrow(
    /cannot open the TensorBoard file .*\(EEXIST\): a file stands where a folder is needed/,
  );
});

/** TFRecord and protobuf read by nothing that the writer uses. */
function records(file: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let start = 0; start < file.length; ) {
    const length = Number(file.readBigUInt64LE(start));
    expect(file.readUInt32LE(start + 8)).toBe(masked(crc32c(file.subarray(start, start + 8))));
    const data = file.subarray(start + 12, start + 12 + length);
    expect(file.readUInt32LE(start + 12 + length)).toBe(masked(crc32c(data)));
    found.push(data);
    start += 16 + length;
  }
  return found;
}

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function masked(crc: number): number {
  const wide = BigInt(crc);
  return Number((((wide >> 15n) | (wide << 17n)) + 0xa282ead8n) & 0xffffffffn);
}

type Field = { number: number; bytes: Buffer; varint: number };

function fields(message: Buffer): Field[] {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => {
    at += length;
    return message.subarray(at - length, at);
  };
  const found: Field[] = [];
  while (at < message.length) {
    const key = varint();
    const wire = key & 7;
    const field: Field = { number: key >>> 3, bytes: Buffer.alloc(0), varint: 0 };
    if (wire === 0) field.varint = varint();
    else field.bytes = take(wire === 1 ? 8 : wire === 5 ? 4 : varint());
    found.push(field);
  }
  return found;
}

function decodeEvent(message: Buffer): Record<string, unknown> {
  const event: Record<string, unknown> = {};
  for (const { number, bytes, varint } of fields(message)) {
    if (number === 1) event.wallTime = bytes.readDoubleLE();
    else if (number === 2) event.step = varint;
    else if (number === 3) event.fileVersion = bytes.toString();
    else if (number === 5) event.values = fields(bytes).map(({ bytes: value }) => decodeValue(value));
    else if (number === 7) event.sessionStatus = fields(bytes)[0].varint;
    else throw new Error(`field ${number} is unexpected`);
  }
  return event;
}

function decodeValue(message: Buffer): { tag: string; value: number } {
  const [tag, value] = fields(message);
  expect([tag.number, value.number]).toEqual([1, 2]);
  return { tag: tag.bytes.toString(), value: value.bytes.readFloatLE() };
}
