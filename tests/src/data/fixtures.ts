import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Thread, threadSchema } from '../../../src/data/thread.ts';

/** A folder of its own for one test, with these files in it. */
export function temporaryFolder(files: Record<string, unknown> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFiles(folder, files);
  return folder;
}

/** Writes files into a folder, making folders as needed; content that is neither text nor bytes is written as JSON. */
export function writeFiles(folder: string, files: Record<string, unknown>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  }
}

export function makeThread(
  id: string,
  options: { posts?: number; rumor?: boolean | null; event?: string | null } = {},
): Thread {
  const { posts = 3, rumor = true, event = null } = options;
  return threadSchema.parse({
    id,
    rumor,
    event,
    posts: Array.from({ length: posts }, (_, index) => ({
      id: index === 0 ? id : `${id}-${index}`,
      time: new Date(Date.UTC(2020, 0, 1, index)).toISOString(),
      text: `text ${index} of ${id}`,
    })),
  });
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
