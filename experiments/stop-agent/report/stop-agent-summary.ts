import { narrowTable, wrapped } from '../../report/narrow-table.ts';
import type { Answer } from './answer.ts';
import { detectorTruthLines } from './detector-truth.ts';

/**
 * What an experiment came to, on a screen: every agent with the best rules that are as early, and one sentence of verdict.
 * The report has all systems and how they were compared. No line is longer than 100 characters.
 */
export function summarizeExperiment(
  name: string,
  { detectors, shift, decided, reading, table, choice, legend, verdict, promises }: Answer,
): string {
  return [
    `${name}: ${decided}`,
    '',
    ...detectorTruthLines(detectors).flatMap((line) => [wrapped(line), '']),
    ...(shift === null ? [] : [wrapped(shift), '']),
    ...(reading === null ? [] : [wrapped(reading), '']),
    narrowTable(table),
    '',
    wrapped(`${legend} ${choice}`),
    '',
    wrapped(`Verdict: ${verdict}`),
    '',
    ...promises.flatMap((promise) => [wrapped(`Promise: ${promise}`), '']),
  ].join('\n');
}
