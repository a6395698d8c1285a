import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import type { Page } from './page.ts';

/**
 * Writes a page, and its charts as SVG into a folder beside it: `report.html` and `report-pictures/`. Pictures of an earlier
 * page of that name are removed.
 * @throws InputError where the disk refuses
 */
export function writePage(path: string, page: Page): void {
  const folder = `${path.replace(/\.html?$/i, '')}-pictures`;
  rmSync(folder, { recursive: true, force: true });
  if (Object.keys(page.pictures).length > 0) makeFolder(folder);
  for (const [name, svg] of Object.entries(page.pictures)) writeFileAtomically(join(folder, name), svg);
  writeFileAtomically(path, page.html);
}
