/*
 * MurmurHash3 (x86, 32 bits; Austin Appleby, public domain, https://github.com/aappleby/smhasher) of sequences of
 * 32-bit words, in its three steps, so that the hash of an n-gram can extend that of the (n−1)-gram before it:
 *
 *   hash = seed;  for each word: hash = mixIntoHash(hash, scrambleWord(word));  finishHash(hash, 4 · words)
 */

/** First step: spreads the bits of one word. */
export function scrambleWord(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

/** Second step: mixes a scrambled word into the hash. */
export function mixIntoHash(hash: number, scrambled: number): number {
  const mixed = hash ^ scrambled;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

/** Last step: the finished hash, a signed 32-bit integer, of `lengthBytes` bytes of words. */
export function finishHash(hash: number, lengthBytes: number): number {
  let mixed = hash ^ lengthBytes;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
