import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { diskError } from '../../../src/errors.ts';
import type { ChatMessage } from '../chat.ts';

export interface FineTuningFile {
  readonly path: string;
  /** SHA-256 of the content, in hexadecimal. */
  readonly hash: string;
}

/**
 * Writes the conversations as chat models are fine-tuned on them, one `{"messages": […]}` a line, each ending with the
 * answer to learn. The file is named by its content, so that the same examples are the same file.
 */
export function writeFineTuningFile(options: {
  directory: string;
  /** The first word of the file's name. */
  name: string;
  conversations: readonly (readonly ChatMessage[])[];
}): FineTuningFile {
  const { directory, name, conversations } = options;
  const lines = conversations.map((messages) =>
    JSON.stringify({ messages: messages.map(({ role, content }) => ({ role, content })) }),
  );
  const text = lines.map((line) => `${line}\n`).join('');
  const hash = createHash('sha256').update(text).digest('hex');
  const path = join(directory, `${name}-${hash.slice(0, 16)}.jsonl`);
  try {
    mkdirSync(directory, { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make the folder ${directory}` });
  }
  if (!existsSync(path)) writeFileAtomically(path, text);
  return { path, hash };
}
