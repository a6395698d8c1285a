import { narrowTable, wrapped } from '../../report/narrow-table.ts';
import type { Answer } from './answer.ts';
import { detectorTruthLines } from './detector-truth.ts';

/**
 * What an experiment came to, on a screen: every agent with the best rules that are as early, and one sentence of verdict.
 * The report has all systems and how they were compared.
 */
export function summarizeExperiment(
  { detectors, shift, decided, reading, table, choice, legend, verdict, promises }: Answer,
  { name, width }: { name: string; width: number },
): string {
  return [
    `${name}: ${decided}`,
    '',
    ...detectorTruthLines(detectors).flatMap((line) => [wrapped(line, { width }), '']),
    ...(shift === null ? [] : [wrapped(shift, { width }), '']),
    ...(reading === null ? [] : [wrapped(reading, { width }), '']),
    narrowTable(table, { width }),
    '',
    wrapped(`${legend} ${choice}`, { width }),
    '',
    wrapped(`Verdict: ${verdict}`, { width }),
    '',
    ...promises.flatMap((promise) => [wrapped(`Promise: ${promise}`, { width }), '']),
  ].join('\n');
}
