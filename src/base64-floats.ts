/*
 * 32-bit floats, little-endian, as base64: how numbers stand in files of JSON. Bundles read them in browsers, too.
 */

export function floatsToBase64(floats: Float32Array): string {
  const view = new DataView(new ArrayBuffer(floats.length * 4));
  for (const [index, value] of floats.entries()) view.setFloat32(index * 4, value, true);
  let bytes = '';
  for (let index = 0; index < view.byteLength; index++) bytes += String.fromCharCode(view.getUint8(index));
  return btoa(bytes);
}

export function floatsFromBase64(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => view.getFloat32(index * 4, true));
}
