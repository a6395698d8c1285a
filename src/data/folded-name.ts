/** Printable ASCII with single spaces inside, like most names. */
const plain = /^[!-~]+(?: [!-~]+)*$/;

/** Characters without width. Those that select a form of the previous character, or join two, are visible. */
const invisible =
  /(?![\s\u0085])\p{Cc}|(?![\p{Variation_Selector}\p{Join_Control}\u{e0020}-\u{e007f}])\p{Default_Ignorable_Code_Point}/gu;

/** A joiner that joins nothing: after a letter of a script whose letters stand alone, or at an end. */
const idleJoiner =
  /(?<![\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}])\p{Join_Control}+|\p{Join_Control}+(?=\s|$)/gu;

/** Tags that spell no regional flag. */
const idleTag = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0020}-\u{e007f}]/gu;

/**
 * A label or id as people see it, so that names that look equal are equal: composed characters (NFC), no invisible
 * ones, single spaces, and none around it. Case stays.
 */
export function foldedName(text: string): string {
  if (plain.test(text)) return text;
  const visible = text.normalize('NFC').replace(invisible, '').replace(idleTag, '');
  return visible
    .replace(/[\s\u0085]+/gu, ' ')
    .replace(idleJoiner, '')
    .trim()
    .normalize('NFC');
}
