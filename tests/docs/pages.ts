import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The checkout, which pages are named from. */
export const home = join(import.meta.dirname, '../..');
export const textOf = (page: string) => readFileSync(join(home, page), 'utf8');

/** The pages of a folder and of those within it. */
export const markdown = (folder: string) =>
  readdirSync(join(home, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('[') && !/^(\.vitepress|node_modules)\b/.test(name))
    .map((name) => join(folder, name));

export interface Block {
  readonly language: string;
  readonly code: string;
  readonly place: string;
}

export function blocksOf(page: string): Block[] {
  return Array.from(textOf(page).matchAll(/^```(\w*)[^\n]*\n(.*?)^```/gms), ({ 1: language, 2: code, index }) => ({
    language,
    code,
    place: `${page}:${textOf(page).slice(0, index).split('\n').length}`,
  }));
}

/** The words of each earshot command of a shell block: lines joined, comments, pipes and redirections left out. */
export function earshotCommands(code: string): string[][] {
  const commands: string[][] = [];
  for (const line of code.replaceAll('\\\n', ' ').split('\n')) {
    // Variables stand for something that was set; a number fits wherever they are used.
    const words = Array.from(
      line.replace(/\$\(?[A-Z_a-z]+\)?/g, '1').matchAll(/#.*|"[^"]*"|'[^']*'|[|;]|&&|\d?[<>]+|[^\s|;<>"']+/g),
      ([word]) => word.replace(/^(["'])(.*)\1$/, '$2'),
    );
    let current: string[] | null = null;
    for (const word of words) {
      if (word.startsWith('#')) break;
      if (word === 'earshot') {
        current = [];
        commands.push(current);
      } else if (/^([|;]|&&|\d?[<>]+)$/.test(word)) current = null;
      else current?.push(word);
    }
  }
  return commands;
}
