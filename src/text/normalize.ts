const HANDLE = /(?<![\p{L}\p{N}_@])@[A-Za-z0-9_]+/gu;
const LINK = /\b(?:https?:\/\/|www\.)[^\s\u3000-\u303f\uff00-\uffef\p{Script=Han}]+/giu;
const MESSY_SPACE = /\s\s|[^\S ]|^ | $/u;

/** Unicode NFKC (full-width forms, ligatures, stylised letters become plain), one space between words, none around. */
export function normalizeText(text: string): string {
  const composed = text.normalize('NFKC');
  return MESSY_SPACE.test(composed) ? composed.replace(/\s+/gu, ' ').trim() : composed;
}

/** Handles and links name persons and pages, not meanings: each kind becomes one word. */
export function maskHandlesAndUrls(text: string): string {
  const withoutUrls = /http|www/iu.test(text) ? text.replace(LINK, 'HTTPURL') : text;
  return withoutUrls.includes('@') ? withoutUrls.replace(HANDLE, '@USER') : withoutUrls;
}
