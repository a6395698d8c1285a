import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import Pbf from 'pbf';
import { onDisk } from '../src/errors.ts';

export type HyperParameter = number | string | boolean;

let openedFiles = 0;

/**
 * Writes scalars for TensorBoard (https://www.tensorflow.org/tensorboard): an event file of this process, in a folder
 * that TensorBoard shows as one run.
 * @param options.resumeStep the step of the checkpoint that training resumes from: TensorBoard drops later values of
 *   earlier files. Null for a run that starts.
 * @param options.now milliseconds since 1970
 * @throws InputError if the disk refuses
 */
export function openTensorBoard(
  folder: string,
  { resumeStep, now = Date.now }: { resumeStep: number | null; now?: () => number },
) {
  // TensorBoard reads a folder's files in the order of their names, which must contain "tfevents" and the time.
  const seconds = String(Math.floor(now() / 1000)).padStart(10, '0');
  const path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${openedFiles++}`);
  const file = onDisk(`open the TensorBoard file ${path}`, () => {
    mkdirSync(folder, { recursive: true });
    return openSync(path, 'wx');
  });

  /*
   * Field numbers of tensorflow/core/util/event.proto: 1 wall time, 2 step, 3 file version, 5 summary, 7 session log; of
   * a summary's value: 1 tag, 2 number, 8 tensor, 9 metadata.
   */
  function append(...fields: Field[]): void {
    const record = tfRecord(message([[1, 'double', now() / 1000], ...fields]));
    onDisk(`append ${record.length} bytes to ${path}`, () => writeFileSync(file, record));
  }
  const summary = (values: readonly Message[]): Field => [5, 'message', values.map((value) => [1, 'message', value])];

  append([3, 'string', 'brain.Event:2']);
  // A session that starts after this step.
  if (resumeStep !== null) append([2, 'varint', resumeStep + 1], [7, 'message', [[1, 'varint', 1]]]);
  return {
    /** Writes values by name at a whole step, also those that are not finite. @throws InputError if the disk refuses */
    scalars(step: number, values: Readonly<Record<string, number>>): void {
      const scalars = Object.entries(values).map(
        ([tag, value]): Message => [
          [1, 'string', tag],
          [2, 'float', value],
        ],
      );
      append([2, 'varint', step], summary(scalars));
    },
    /** Writes the settings for TensorBoard's page HPARAMS, a row per run. @throws InputError if the disk refuses */
    hyperParameters(settings: Readonly<Record<string, HyperParameter>>): void {
      append(summary([hyperParameterValue(settings)]));
    },
    close: () => closeSync(file),
  };
}

/** A message in the binary form of protocol buffers: its fields, each with its number and type. */
type Message = readonly Field[];
type Field =
  | readonly [number, 'varint', number]
  | readonly [number, 'float', number]
  | readonly [number, 'double', number]
  | readonly [number, 'string', string]
  | readonly [number, 'boolean', boolean]
  | readonly [number, 'message', Message];

function message(fields: Message): Uint8Array {
  const bytes = new Pbf();
  for (const field of fields)
    if (field[1] === 'varint') bytes.writeVarintField(field[0], field[2]);
    else if (field[1] === 'float') bytes.writeFloatField(field[0], field[2]);
    else if (field[1] === 'double') bytes.writeDoubleField(field[0], field[2]);
    else if (field[1] === 'string') bytes.writeStringField(field[0], field[2]);
    else if (field[1] === 'boolean') bytes.writeBooleanField(field[0], field[2]);
    else bytes.writeBytesField(field[0], message(field[2]));
  return bytes.finish();
}

/** A value whose metadata are the settings: tensorboard/plugins/hparams/plugin_data.proto and the messages around it. */
function hyperParameterValue(settings: Readonly<Record<string, HyperParameter>>): Message {
  const start = Object.entries(settings).map(([name, value]): Field => {
    const typed: Field =
      typeof value === 'number'
        ? [2, 'double', value]
        : typeof value === 'boolean'
          ? [4, 'boolean', value]
          : [3, 'string', value];
    return [
      1,
      'message',
      [
        [1, 'string', name],
        [2, 'message', [typed]],
      ],
    ];
  });
  const plugin: Message = [
    [1, 'string', 'hparams'],
    [2, 'message', [[3, 'message', start]]],
  ];
  // Of floats, without dimensions: TensorBoard ignores a summary without a tensor.
  const emptyTensor: Message = [
    [1, 'varint', 1],
    [2, 'message', [[2, 'message', []]]],
  ];
  return [
    [1, 'string', '_hparams_/session_start_info'],
    [8, 'message', emptyTensor],
    [9, 'message', [[1, 'message', plugin]]],
  ];
}

/** TFRecord framing: length (8 bytes), its masked CRC-32C, the data, its masked CRC-32C; all little-endian. */
function tfRecord(data: Uint8Array): Buffer {
  const record = Buffer.alloc(8 + 4 + data.length + 4);
  record.writeBigUInt64LE(BigInt(data.length), 0);
  record.writeUInt32LE(maskedCrc(record.subarray(0, 8)), 8);
  record.set(data, 12);
  record.writeUInt32LE(maskedCrc(data), 12 + data.length);
  return record;
}

/** Rotates and shifts a CRC, because a CRC of data that contains CRCs is weak (tensorflow/core/lib/hash/crc32c.h). */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
