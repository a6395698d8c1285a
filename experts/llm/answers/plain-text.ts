const DASHES = /[\p{Pd}\u2212]/gu;
const INVISIBLE = /\ufe0f|\u200d|[\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff]/gu;

/**
 * A text as it is compared, never as it is stored: lower case, one kind of hyphen, space, quotation mark, stop and comma, no
 * invisible characters. Models write `non‑rumor` with the hyphen U+2011, `Ｙｅｓ` in wide letters, and `是。` in Chinese.
 */
export function plainText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(DASHES, '-')
    .replace(/[“”„«»「」『』《》【】]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/[。۔।]/g, '.')
    .replace(/[、،]/g, ',')
    .replace(/[^\S\n]+/gu, ' ')
    .toLowerCase();
}

/** Whether two answers are the same word or words, whatever their capitals, hyphens, spaces and punctuation. */
export function isSameWord(one: string, other: string): boolean {
  return wordKey(one) === wordKey(other);
}

function wordKey(text: string): string {
  const plain = plainText(text);
  // Names that consist of signs alone are told apart by them.
  return plain.replace(/[^\p{L}\p{N}]/gu, '') || plain;
}
