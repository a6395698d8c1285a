/* 32-bit floats, little-endian, as base64: the form of numbers in JSON files. Bundles are read in browsers, too. */

export function floatsToBase64(floats: Float32Array): string {
  const view = new DataView(new ArrayBuffer(floats.length * 4));
  for (const [index, value] of floats.entries()) view.setFloat32(index * 4, value, true);
  return bytesToBase64(view);
}

/** Signed 32-bit integers, little-endian, as base64. */
export function integersToBase64(integers: Int32Array): string {
  const view = new DataView(new ArrayBuffer(integers.length * 4));
  for (const [index, value] of integers.entries()) view.setInt32(index * 4, value, true);
  return bytesToBase64(view);
}

function bytesToBase64(view: DataView): string {
  let bytes = '';
  for (let index = 0; index < view.byteLength; index++) bytes += String.fromCharCode(view.getUint8(index));
  return btoa(bytes);
}

export function floatsFromBase64(text: string): Float32Array {
  const view = viewOf(text);
  return Float32Array.from({ length: Math.floor(view.byteLength / 4) }, (_, index) => view.getFloat32(index * 4, true));
}

export function integersFromBase64(text: string): Int32Array {
  const view = viewOf(text);
  return Int32Array.from({ length: Math.floor(view.byteLength / 4) }, (_, index) => view.getInt32(index * 4, true));
}

function viewOf(text: string): DataView {
  return new DataView(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}
