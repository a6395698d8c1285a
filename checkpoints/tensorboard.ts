import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import Pbf from 'pbf';
import { onDisk } from '../src/errors.ts';

/** Field numbers of tensorflow/core/util/event.proto and framework/summary.proto for scalars. */
const eventField = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const summaryValueField = 1;
const valueField = { tag: 1, simpleValue: 2, tensor: 8, metadata: 9 } as const;
const sessionLogStatusField = 1;
const sessionStart = 1;

/** Field numbers of tensorboard/plugins/hparams/plugin_data.proto and the messages around it. */
const pluginField = { pluginData: 1, pluginName: 1, content: 2, sessionStartInfo: 3, hparams: 1 } as const;
const valueOfField = { number: 2, text: 3, truth: 4 } as const;

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

  function append(writeFields: (event: Pbf) => void): void {
    const event = message((fields) => {
      fields.writeDoubleField(eventField.wallTime, now() / 1000);
      writeFields(fields);
    });
    const record = tfRecord(event);
    onDisk(`append ${record.length} bytes to ${path}`, () => writeFileSync(file, record));
  }

  append((event) => event.writeStringField(eventField.fileVersion, 'brain.Event:2'));
  if (resumeStep !== null)
    append((event) => {
      event.writeVarintField(eventField.step, resumeStep + 1);
      const status = message((log) => log.writeVarintField(sessionLogStatusField, sessionStart));
      event.writeBytesField(eventField.sessionLog, status);
    });
  return {
    /** Writes values by name at a whole step, also those that are not finite. @throws InputError if the disk refuses */
    scalars(step: number, values: Readonly<Record<string, number>>): void {
      append((event) => {
        event.writeVarintField(eventField.step, step);
        event.writeBytesField(eventField.summary, message(scalarValues(values)));
      });
    },
    /** Writes the settings for TensorBoard's page HPARAMS, a row per run. @throws InputError if the disk refuses */
    hyperParameters(settings: Readonly<Record<string, HyperParameter>>): void {
      append((event) => event.writeBytesField(eventField.summary, message(settingsValue(settings))));
    },
    close: () => closeSync(file),
  };
}

/** The bytes of a message, which stand in another message as a field of bytes does. */
function message(write: (fields: Pbf) => void): Uint8Array {
  const fields = new Pbf();
  write(fields);
  return fields.finish();
}

const scalarValues = (values: Readonly<Record<string, number>>) => (summary: Pbf) => {
  for (const [tag, number] of Object.entries(values))
    summary.writeBytesField(
      summaryValueField,
      message((value) => {
        value.writeStringField(valueField.tag, tag);
        value.writeFloatField(valueField.simpleValue, number);
      }),
    );
};

/** A value whose metadata are the settings. */
const settingsValue = (settings: Readonly<Record<string, HyperParameter>>) => (summary: Pbf) => {
  const session = message((fields) => {
    for (const entry of Object.entries(settings)) fields.writeBytesField(pluginField.hparams, message(setting(entry)));
  });
  const plugin = message((fields) => {
    fields.writeStringField(pluginField.pluginName, 'hparams');
    fields.writeBytesField(
      pluginField.content,
      message((content) => content.writeBytesField(pluginField.sessionStartInfo, session)),
    );
  });
  const value = message((fields) => {
    fields.writeStringField(valueField.tag, '_hparams_/session_start_info');
    fields.writeBytesField(valueField.tensor, emptyTensor);
    fields.writeBytesField(
      valueField.metadata,
      message((metadata) => metadata.writeBytesField(pluginField.pluginData, plugin)),
    );
  });
  summary.writeBytesField(summaryValueField, value);
};

/** Of floats: TensorBoard ignores a summary without a tensor. */
const emptyTensor = message((tensor) => {
  tensor.writeVarintField(1, 1);
  tensor.writeBytesField(
    2,
    message((shape) => shape.writeBytesField(2, new Uint8Array())),
  );
});

const setting =
  ([name, value]: [string, HyperParameter]) =>
  (entry: Pbf) => {
    entry.writeStringField(1, name);
    const typed = message((field) => {
      if (typeof value === 'number') field.writeDoubleField(valueOfField.number, value);
      else if (typeof value === 'boolean') field.writeBooleanField(valueOfField.truth, value);
      else field.writeStringField(valueOfField.text, value);
    });
    entry.writeBytesField(2, typed);
  };

export type TensorBoardWriter = ReturnType<typeof openTensorBoard>;

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
