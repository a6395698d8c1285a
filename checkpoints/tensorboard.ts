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

  /** Writes values by name at a whole step, also those that are not finite. @throws InputError if the disk refuses */
  function scalars(step: number, values: Readonly<Record<string, number>>): void {
    append((event) => {
      event.writeVarintField(eventField.step, step);
      event.writeMessage(eventField.summary, writeSummary, values);
    });
  }

  /** Writes the settings for TensorBoard's page HPARAMS, a row per run. @throws InputError if the disk refuses */
  function hyperParameters(settings: Readonly<Record<string, HyperParameter>>): void {
    append((event) => {
      event.writeMessage(eventField.summary, writeHyperParameters, settings);
    });
  }

  function close(): void {
    closeSync(file);
  }

  function startSession(step: number): void {
    append((event) => {
      event.writeVarintField(eventField.step, step);
      event.writeMessage(eventField.sessionLog, writeSessionLog, sessionStart);
    });
  }

  function append(writeFields: (event: Pbf) => void): void {
    const event = new Pbf();
    event.writeDoubleField(eventField.wallTime, now() / 1000);
    writeFields(event);
    const record = tfRecord(event.finish());
    onDisk(`append ${record.length} bytes to ${path}`, () => writeFileSync(file, record));
  }

  append((event) => event.writeStringField(eventField.fileVersion, 'brain.Event:2'));
  if (resumeStep !== null) startSession(resumeStep + 1);
  return { scalars, hyperParameters, close };
}

export type TensorBoardWriter = ReturnType<typeof openTensorBoard>;

function writeSummary(values: Readonly<Record<string, number>>, summary: Pbf): void {
  for (const value of Object.entries(values)) summary.writeMessage(summaryValueField, writeValue, value);
}

function writeValue([tag, value]: [string, number], message: Pbf): void {
  message.writeStringField(valueField.tag, tag);
  message.writeFloatField(valueField.simpleValue, value);
}

/** Writes a summary without a value whose metadata are the settings. */
function writeHyperParameters(settings: Readonly<Record<string, HyperParameter>>, summary: Pbf): void {
  summary.writeMessage(
    summaryValueField,
    (parameters: typeof settings, value) => {
      value.writeStringField(valueField.tag, '_hparams_/session_start_info');
      // An empty tensor of floats: TensorBoard ignores a summary without a tensor.
      value.writeMessage(
        valueField.tensor,
        (_, tensor) => {
          tensor.writeVarintField(1, 1);
          tensor.writeMessage(2, (__, shape) => shape.writeMessage(2, () => {}, null), null);
        },
        null,
      );
      value.writeMessage(
        valueField.metadata,
        (__, metadata) => {
          metadata.writeMessage(pluginField.pluginData, writeSession, parameters);
        },
        null,
      );
    },
    settings,
  );
}

function writeSession(settings: Readonly<Record<string, HyperParameter>>, plugin: Pbf): void {
  const content = new Pbf();
  content.writeMessage(
    pluginField.sessionStartInfo,
    (parameters: typeof settings, session) => {
      for (const entry of Object.entries(parameters)) session.writeMessage(pluginField.hparams, writeEntry, entry);
    },
    settings,
  );
  plugin.writeStringField(pluginField.pluginName, 'hparams');
  plugin.writeBytesField(pluginField.content, content.finish());
}

function writeEntry([name, value]: [string, HyperParameter], entry: Pbf): void {
  entry.writeStringField(1, name);
  entry.writeMessage(
    2,
    (setting: HyperParameter, message) => {
      if (typeof setting === 'number') message.writeDoubleField(valueOfField.number, setting);
      else if (typeof setting === 'boolean') message.writeBooleanField(valueOfField.truth, setting);
      else message.writeStringField(valueOfField.text, setting);
    },
    value,
  );
}

function writeSessionLog(status: number, message: Pbf): void {
  message.writeVarintField(sessionLogStatusField, status);
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
