import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A fresh folder that goes when the test that asked for it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
