import { InputError } from '../errors.ts';
import { quoted } from '../shell-words.ts';

/** @throws InputError for a file with the name of a table, with the command that makes threads of it */
export function refuseTable(path: string, { after = '' }: { after?: string } = {}): void {
  const [, ending] = /\.(csv|tsv|parquet)(?:\.gz)?$/i.exec(path) ?? [];
  if (ending === undefined) return;
  const format = ending.toLowerCase() === 'parquet' ? 'parquet' : 'csv';
  throw new InputError(
    `${path} is a table; make threads of it first: \`earshot data import ${format} ${quoted(path)} --out threads.jsonl\`${after}`,
  );
}
