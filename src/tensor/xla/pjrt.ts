import type { Kind, Numbers } from '../graph/graph.ts';
import { loadLibrary, type NativeLibrary } from './native.ts';
import { type ApiFunction, apiFunctions } from './pjrt-api.ts';

/*
 * A client of the PJRT C API: compile, upload, execute, download, free. Every call has its arguments in a struct of eight bytes a
 * field, after the struct's size and a pointer to extensions.
 */

/** A pointer to an object of the plugin. */
export type Handle = bigint;

export interface Executable {
  readonly handle: Handle;
  readonly outputs: number;
}

/** An error of the plugin. */
export class PjrtError extends Error {
  override readonly name = 'PjrtError';
  readonly isOutOfMemory: boolean;

  constructor(message: string, { code }: { code: number }) {
    super(message);
    this.isOutOfMemory = code === resourceExhausted || /out of memory/i.test(message);
  }
}

const resourceExhausted = 8;

/** PJRT_NamedValue_Type. */
const booleanType = 4;

/** PJRT_Buffer_Type. */
const elementTypes: Readonly<Record<Kind, number>> = { bool: 1, int32: 4, float32: 11 };

/** CompileOptionsProto: one replica, one partition. */
const compileOptions = Uint8Array.of(0x1a, 4, 0x20, 1, 0x28, 1);

type Slot = number | bigint | NodeJS.ArrayBufferView;

/** Bytes before the fields of a struct of arguments. */
const headFields = 2;

export interface DeviceMemoryUse {
  readonly usedBytes: number;
  /** Most at once since the start; null where the plugin does not say. */
  readonly peakBytes: number | null;
  /** Null where the plugin does not say. */
  readonly limitBytes: number | null;
}

export class Pjrt {
  readonly apiVersion: string;
  readonly platform: string;
  readonly platformVersion: string;
  /** The device's model. */
  readonly deviceKind: string;
  private readonly native: NativeLibrary;
  private readonly functions: Readonly<Record<string, (args: BigUint64Array) => bigint>>;
  private readonly client: Handle;
  private readonly device: Handle;
  /** Arrays whose addresses a call was given: held until it returns. */
  private held: readonly NodeJS.ArrayBufferView[] = [];

  /**
   * Loads a plugin and takes its first device.
   * @param options.isGpu whether it knows the options of XLA's GPU clients
   * @throws PjrtError, or Error where the library or the API does not fit
   */
  static async open(path: string, { isGpu }: { isGpu: boolean }): Promise<Pjrt> {
    return new Pjrt(await loadLibrary(path), { path, isGpu });
  }

  constructor(native: NativeLibrary, { path, isGpu }: { path: string; isGpu: boolean }) {
    this.native = native;
    const { version, functions } = apiFunctions(native.api(), path);
    this.apiVersion = version;
    this.functions = Object.fromEntries(
      Array.from(functions, ([name, pointer]) => [name, native.callable(pointer)] as const),
    );
    this.call('Plugin_Initialize', []);
    // Otherwise it takes three quarters of a GPU's memory at its start, and other processes find none.
    const settings = isGpu ? [this.flag('preallocate', false)] : [];
    this.client = this.call('Client_Create', [settings[0] ?? 0, settings.length, ...Array(7).fill(0)])(6);
    const devices = this.call('Client_AddressableDevices', [this.client, 0, 0]);
    if (devices(2) === 0n) throw new PjrtError('the plugin found no device', { code: 0 });
    this.device = native.pointerAt(devices(1));
    const description = this.call('Device_GetDescription', [this.device, 0])(1);
    this.platform = this.textOf('Client_PlatformName', this.client);
    this.platformVersion = this.textOf('Client_PlatformVersion', this.client).split('\n')[0];
    this.deviceKind = this.textOf('DeviceDescription_Kind', description);
  }

  /** PJRT_NamedValue: name, its length, type, value, its length. */
  private flag(name: string, value: boolean): BigUint64Array {
    const bytes = Buffer.from(name);
    return structOf([this.addressOf(bytes), bytes.length, booleanType, Number(value), 1]);
  }

  private textOf(name: ApiFunction, of: Handle): string {
    const result = this.call(name, [of, 0, 0]);
    return this.native.text(result(1), Number(result(2)));
  }

  /** @returns reads a field of the struct, after the call */
  private call(name: ApiFunction, slots: readonly Slot[]): (field: number) => bigint {
    // Of a buffer of its own, so that it does not move.
    const args = new BigUint64Array(new ArrayBuffer(8 * (headFields + slots.length)));
    args[0] = BigInt(args.byteLength);
    this.held = [
      args,
      ...slots.filter((slot): slot is NodeJS.ArrayBufferView => ArrayBuffer.isView(slot)),
      ...this.held,
    ];
    for (const [field, slot] of slots.entries())
      args[headFields + field] = ArrayBuffer.isView(slot) ? this.native.address(slot) : BigInt(slot);
    const error = this.functions[name](args);
    this.held = [];
    if (error !== 0n) throw this.failure(error);
    return (field) => args[headFields + field];
  }

  private failure(error: Handle): PjrtError {
    const ask = (name: ApiFunction, fields: number) => {
      const args = new BigUint64Array(new ArrayBuffer(8 * (headFields + fields)));
      args.set([BigInt(args.byteLength), 0n, error]);
      this.functions[name](args);
      return args;
    };
    const message = ask('Error_Message', 3);
    const text = this.native.text(message[3], Number(message[4]));
    const code = Number(BigInt.asIntN(32, ask('Error_GetCode', 2)[3]));
    ask('Error_Destroy', 1);
    return new PjrtError(text, { code });
  }

  /** An address inside of another struct: what it leads to is held until the next call returns. */
  private addressOf(array: NodeJS.ArrayBufferView): bigint {
    this.held = [...this.held, array];
    return this.native.address(array);
  }

  compile(text: string): Executable {
    // MLIR's reader looks at the byte after the last.
    const [code, format] = [Buffer.from(`${text}\0`), Buffer.from('mlir')];
    const program = structOf([this.addressOf(code), code.length - 1, this.addressOf(format), format.length]);
    const options = [compileOptions, compileOptions.length] as const;
    return this.executable(this.call('Client_Compile', [this.client, program, ...options, 0])(4));
  }

  private executable(handle: Handle): Executable {
    const inner = this.call('LoadedExecutable_GetExecutable', [handle, 0])(1);
    const outputs = Number(this.call('Executable_NumOutputs', [inner, 0])(1));
    this.call('Executable_Destroy', [inner]);
    return { handle, outputs };
  }

  /** The compiled program, for `load` of the same plugin on the same kind of device. */
  serialized({ handle }: Executable): Uint8Array {
    const inner = this.call('LoadedExecutable_GetExecutable', [handle, 0])(1);
    const result = this.call('Executable_Serialize', [inner, 0, 0, 0, 0]);
    const bytes = this.native.bytes(result(1), Number(result(2)));
    this.native.callable(result(4))(result(3));
    this.call('Executable_Destroy', [inner]);
    return bytes;
  }

  load(serialized: Uint8Array): Executable {
    const args = [this.client, serialized, serialized.length, 0, 0, 0];
    return this.executable(this.call('Executable_DeserializeAndLoad', args)(3));
  }

  unload({ handle }: Executable): void {
    this.call('LoadedExecutable_Destroy', [handle]);
  }

  /** Copies; the array may change after. */
  upload(array: Numbers, { shape, kind }: { shape: readonly number[]; kind: Kind }): Handle {
    const lengths = new BigInt64Array(new ArrayBuffer(8 * Math.max(shape.length, 1)));
    for (const [axis, length] of shape.entries()) lengths[axis] = BigInt(length);
    const result = this.call('Client_BufferFromHostBuffer', [
      ...[this.client, array, elementTypes[kind], lengths, shape.length],
      // No strides; the array is read during the call only; the device, its memory and its layout.
      ...[0, 0, 0, this.device, 0, 0],
      ...[0, 0],
    ]);
    try {
      this.finished(result(11));
    } catch (error) {
      this.free(result(12));
      throw error;
    }
    return result(12);
  }

  private finished(event: Handle): void {
    if (event === 0n) return;
    try {
      this.call('Event_Await', [event]);
    } finally {
      this.call('Event_Destroy', [event]);
    }
  }

  /** @param options.retained places of inputs that the program may not write over */
  execute(
    { handle, outputs }: Executable,
    inputs: readonly Handle[],
    { retained }: { retained: readonly number[] },
  ): Handle[] {
    const inputHandles = handles(inputs);
    const made = handles(Array(Math.max(outputs, 1)).fill(0n));
    const notDonated = new BigInt64Array(new ArrayBuffer(8 * Math.max(retained.length, 1)));
    for (const [index, place] of retained.entries()) notDonated[index] = BigInt(place);
    const options = structOf([0, 0, 0, 0, 0, this.addressOf(notDonated), retained.length, 0, 0, 0, 0, 0]);
    const lists = [inputHandles, made].map((list) => handles([this.addressOf(list)]));
    this.call('LoadedExecutable_Execute', [handle, options, lists[0], 1, inputs.length, lists[1], 0, 0]);
    return Array.from(made.subarray(0, outputs));
  }

  download(buffer: Handle, into: Numbers): void {
    if (into.byteLength === 0) return;
    this.held = [into];
    const result = this.call('Buffer_ToHostBuffer', [buffer, 0, into, into.byteLength, 0]);
    this.held = [into];
    this.finished(result(4));
  }

  /** An execution that reads it goes on: the plugin keeps what it needs. */
  free(buffer: Handle): void {
    this.call('Buffer_Destroy', [buffer]);
  }

  /** Null where the plugin counts nothing. */
  memory(): DeviceMemoryUse | null {
    try {
      const result = this.call('Device_MemoryStats', [this.device, ...Array(20).fill(0)]);
      // A number, and in the byte behind it whether the plugin says it.
      const optional = (field: number) => ((result(field + 1) & 0xffn) === 0n ? null : Number(result(field)));
      return { usedBytes: Number(result(1)), peakBytes: optional(2), limitBytes: optional(8) };
    } catch (error) {
      if (error instanceof PjrtError) return null;
      throw error;
    }
  }
}

/** A struct of arguments. */
function structOf(fields: readonly (number | bigint)[]): BigUint64Array {
  const struct = handles([0n, 0n, ...fields.map(BigInt)]);
  struct[0] = BigInt(struct.byteLength);
  return struct;
}

function handles(list: readonly bigint[]): BigUint64Array {
  const array = new BigUint64Array(new ArrayBuffer(8 * list.length));
  array.set(list);
  return array;
}
