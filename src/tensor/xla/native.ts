import type { LibraryHandle } from 'koffi';
import type { ApiStruct } from './pjrt-api.ts';

/*
 * Calls into shared libraries by koffi, an optional package that is loaded here alone.
 */

export interface NativeLibrary {
  /** The struct that `GetPjrtApi` of the library returns. */
  api(): ApiStruct;
  /** A function that takes an address and returns one, 0 for none. */
  callable(pointer: bigint): (args: BigUint64Array | bigint) => bigint;
  text(pointer: bigint, length: number): string;
  bytes(pointer: bigint, length: number): Uint8Array;
  pointerAt(pointer: bigint): bigint;
  address(array: NodeJS.ArrayBufferView): bigint;
}

/** Held for ever: koffi unloads a library whose object is collected, and the next call would jump into nothing. */
const loaded = new Map<string, LibraryHandle>();

/** koffi calls on a stack of its own, of 2 MiB; XLA's compiler takes more. */
const stackBytes = 16 * 2 ** 20;
let isConfigured = false;

/** `dlopen` of now, never to be unloaded: threads of a plugin still run when Node unloads its libraries at its end. */
const keptOpen: Partial<Record<NodeJS.Platform, number>> = { linux: 0x1002, darwin: 0x82 };

/** @throws Error with what the system's loader says */
export async function loadLibrary(path: string): Promise<NativeLibrary> {
  const { default: koffi } = await import('koffi').catch((cause: unknown) => {
    throw new Error(
      'the package koffi, by which plugins are called, is not installed for this machine; install it with `npm install koffi@3.3.4`',
      { cause },
    );
  });
  if (!isConfigured) koffi.config({ sync_stack_size: stackBytes, sync_heap_size: 2 ** 20 });
  isConfigured = true;
  const flags = keptOpen[process.platform];
  if (flags !== undefined) koffi.load(null).func('void *dlopen(const char *file, int flags)')(path, flags);
  const library = loaded.get(path) ?? koffi.load(path);
  loaded.set(path, library);
  const call = koffi.proto('void *', ['void *']);
  const number = (value: bigint | number | null): bigint => BigInt(value ?? 0);
  return {
    api() {
      const struct: bigint = library.func('void *GetPjrtApi()')();
      return {
        size: (at) => Number(koffi.decode(struct, at, 'uint64_t')),
        int: (at) => Number(koffi.decode(struct, at, 'int')),
        pointer: (at) => number(koffi.decode(struct, at, 'uint64_t')),
      };
    },
    callable(pointer) {
      const native = koffi.decode(pointer, call);
      return (args) => number(native(args));
    },
    text: (pointer, length) => Buffer.from(new Uint8Array(koffi.view(pointer, length))).toString('utf8'),
    bytes: (pointer, length) => new Uint8Array(koffi.view(pointer, length)).slice(),
    address(array) {
      // V8 keeps arrays of up to 64 bytes on its heap and moves them, until someone asks for their buffer.
      if (array.buffer.byteLength === 0) return 0n;
      return koffi.address(array);
    },
    pointerAt: (pointer) => number(koffi.decode(pointer, 'uint64_t')),
  };
}
