const HANDLE = /(?<![\p{L}\p{N}_@])@[A-Za-z0-9_]+/gu;
const LINK = /\b(?:https?:\/\/|www\.)[^\s\u3000-\u303f\uff00-\uffef\p{Script=Han}]+/giu;
const MESSY_SPACE = /\s\s|[^\S ]|^ | $/u;

/** Unicode NFKC (full-width forms, ligatures and stylised letters become plain), trimmed and with single spaces. */
export function normalizeText(text: string): string {
  const composed = text.normalize('NFKC');
  return MESSY_SPACE.test(composed) ? composed.replace(/\s+/gu, ' ').trim() : composed;
}

/** Replaces handles by @USER and links by HTTPURL, because they only identify persons and pages. */
export function maskHandlesAndUrls(text: string): string {
  const withoutUrls = /http|www/iu.test(text) ? text.replace(LINK, 'HTTPURL') : text;
  return withoutUrls.includes('@') ? withoutUrls.replace(HANDLE, '@USER') : withoutUrls;
}
