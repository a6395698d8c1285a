import type { Encoder } from '../../../src/text/encoder.ts';

/** Counts these words, case aside: similarities can be worked out by hand. */
export function wordEncoder(...words: string[]): Encoder {
  return {
    dimensions: words.length,
    identity: { name: 'words', words },
    async encode(texts) {
      return Float32Array.from(
        texts.flatMap((text) => {
          const own = text.toLowerCase().match(/\p{L}+/gu) ?? [];
          return words.map((word) => own.filter((each) => each === word).length);
        }),
      );
    },
  };
}
