import { InputError } from '../../src/errors.ts';

/** Files of a folder that a server gives out, by their names. */
export function fetchedFrom(folder: URL | string): (name: string) => Promise<ArrayBuffer> {
  return async (name) => {
    if (!URL.canParse(String(folder)))
      throw new InputError(`${folder} is no address; give one, or { read }, which gives the bytes of a file`);
    // Without the slash, the name of a file would take the place of the folder's.
    const address = new URL(name, String(folder).replace(/\/?(?=$|[?#])/, '/'));
    const response = await fetch(address).catch((error: unknown) => {
      throw new InputError(`${address} cannot be fetched: ${error}`);
    });
    if (!response.ok)
      throw new InputError(`${address} cannot be read (status ${response.status}); give the folder of a bundle`);
    return response.arrayBuffer();
  };
}

/** @throws InputError for what is neither, from callers without types */
export function asBytes(given: Uint8Array | ArrayBuffer, name: string): Uint8Array {
  if (given instanceof Uint8Array) return given;
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  throw new InputError(`read gave a ${typeof given} for ${name}, not bytes`);
}
