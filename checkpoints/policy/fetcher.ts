import { InputError } from '../../src/errors.ts';

/** Returns a function that fetches a file by its name from a folder on a server. */
export function fetcherOf(folder: URL | string): (name: string) => Promise<ArrayBuffer> {
  return async (name) => {
    if (!URL.canParse(String(folder)))
      throw new InputError(`${folder} is no address; give one, or { read }, which gives the bytes of a file`);
    // Without the slash, the file name would replace the last part of the folder's address.
    const address = new URL(name, String(folder).replace(/\/?(?=$|[?#])/, '/'));
    const response = await fetch(address).catch((error: unknown) => {
      throw new InputError(`${address} cannot be fetched: ${error}`);
    });
    if (!response.ok)
      throw new InputError(`${address} cannot be read (status ${response.status}); give the folder of a bundle`);
    return response.arrayBuffer();
  };
}

/** @throws InputError for any other value, which callers without types may give */
export function asBytes(content: Uint8Array | ArrayBuffer, name: string): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  throw new InputError(`read gave a ${typeof content} for ${name}, not bytes`);
}
