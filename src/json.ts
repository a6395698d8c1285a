/** Parses a foreign text; undefined if it is not JSON, which no schema accepts. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Quotes the integers of a JSON text beyond 2^53, which `JSON.parse` rounds, so that they keep their digits. */
export function withWholeIntegers(text: string): string {
  if (!/\d{16}/.test(text)) return text;
  return outsideStrings(text, (piece) =>
    piece.replace(number, (digits) => (isRounded(digits) ? `"${digits}"` : digits)),
  );
}

/**
 * Replaces NaN and Infinity, which Python writes and JSON does not have, by null.
 * @param least replaces −∞
 */
export function withoutNaN(text: string, least = 'null'): string {
  return outsideStrings(text, (piece) =>
    piece.replace(/-?\b(?:NaN|Infinity)\b/g, (token) => (token === '-Infinity' ? least : 'null')),
  );
}

function outsideStrings(text: string, change: (piece: string) => string): string {
  let changed = '';
  for (const { piece, isString } of pieces(text)) changed += isString ? piece : change(piece);
  return changed;
}

/** The first integer of a JSON text that `JSON.parse` would round; null without one. */
export function roundedInteger(text: string): string | null {
  if (!/\d{16}/.test(text)) return null;
  for (const { piece, isString } of pieces(text)) {
    const rounded = isString ? undefined : piece.match(number)?.find(isRounded);
    if (rounded !== undefined) return rounded;
  }
  return null;
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function isRounded(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** The strings of a JSON text and the text between them. */
function* pieces(text: string): Generator<{ readonly piece: string; readonly isString: boolean }> {
  let start = 0;
  while (start < text.length) {
    const open = text.indexOf('"', start);
    yield { piece: text.slice(start, open < 0 ? undefined : open), isString: false };
    if (open < 0) return;
    let end = text.indexOf('"', open + 1);
    while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
    start = end < 0 ? text.length : end + 1;
    yield { piece: text.slice(open, start), isString: true };
  }
}

function isEscaped(text: string, place: number): boolean {
  let before = place;
  while (text[before - 1] === '\\') before--;
  return (place - before) % 2 === 1;
}
