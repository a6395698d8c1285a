/**
 * The quotation, if a passage contains it word for word, apart from quotation marks and case; otherwise a note that
 * it was dropped.
 */
export function checkedQuotation(options: { quotation: string; passages: readonly string[] }): string {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[“”„]/g, '"')
      .replace(/[‘’]/g, "'")
      .replace(/^["'\s]+|["'\s.]+$/g, '')
      .replace(/\s+/g, ' ');
  const quotation = plain(options.quotation);
  const isFound = quotation !== '' && options.passages.some((passage) => plain(passage).includes(quotation));
  return isFound ? options.quotation : '(a quotation that stands in no passage was dropped)';
}
