import { join } from 'node:path';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { markdownOf, type Report, screenOf } from './report.ts';

/** Writes `report.md` and `report.json` into a folder. Returns the report as Markdown, and what a screen shows of it. */
export function writeReportFiles(folder: string, { report, json }: { report: Report; json: object }) {
  const text = markdownOf(report);
  writeFileAtomically(join(folder, 'report.json'), `${JSON.stringify(json, null, 2)}\n`);
  writeFileAtomically(join(folder, 'report.md'), text);
  return { text, summary: screenOf(report) };
}
