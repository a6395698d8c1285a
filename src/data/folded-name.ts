/** Printable ASCII with single spaces inside, which most names are. */
const plain = /^[!-~]+(?: [!-~]+)*$/;

/** Without a width of their own. Those that choose the form of the character before them, or join it to the next, are seen. */
const invisible =
  /(?![\s\u0085])\p{Cc}|(?![\p{Variation_Selector}\p{Join_Control}\u{e0020}-\u{e007f}])\p{Default_Ignorable_Code_Point}/gu;

/** A joiner where nothing joins: behind a letter of a script whose letters stand alone, or at an end. */
const idleJoiner =
  /(?<![\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}])\p{Join_Control}+|\p{Join_Control}+(?=\s|$)/gu;

/** Flags of regions are spelt with them. */
const idleTag = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0020}-\u{e007f}]/gu;

/**
 * A label or id as its reader sees it, so that two that look the same are the same: composed characters (NFC), no invisible ones, single
 * spaces, and none around it. Case stays.
 */
export function foldedName(text: string): string {
  if (plain.test(text)) return text;
  const seen = text.normalize('NFC').replace(invisible, '').replace(idleTag, '');
  return seen
    .replace(/[\s\u0085]+/gu, ' ')
    .replace(idleJoiner, '')
    .trim()
    .normalize('NFC');
}
