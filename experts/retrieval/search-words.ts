import { withoutLinks } from './text-spans.ts';

/**
 * The words of a claim as a search service is given them: without links and without what it takes for an operator, or a claim
 * could choose its own evidence. Colons (`site:`, `insource:`), quotation marks and brackets, signs before a word, AND, OR, NOT.
 */
export function searchWords(text: string): string {
  return withoutLinks(text.normalize('NFKC'))
    .replace(/[\p{Cf}\p{DI}]/gu, '')
    .replace(/["“”„«»:|()[\]{}~^*\\]/g, ' ')
    .replace(/(?<!\S)[-+!]+/g, ' ')
    .replace(/(?<!\S)(?:AND|OR|NOT|NEAR|AROUND)(?!\S)/g, (operator) => operator.toLowerCase())
    .replace(/\s+/g, ' ')
    .trim();
}
