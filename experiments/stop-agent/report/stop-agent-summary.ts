import type { ScreenBlock } from '../../report/narrow-table.ts';
import type { Answer } from './answer.ts';
import { detectorTruthLines } from './detector-truth.ts';

/**
 * What an experiment came to, on a screen: every agent with the best rules that are as early, and one sentence of verdict.
 * The report has all systems and how they were compared.
 */
export function summarizeExperiment(name: string, answer: Answer): ScreenBlock[] {
  const { detectors, shift, decided, reading, table, choice, legend, verdict, recommended, promises } = answer;
  return [
    `${name}: ${decided}`,
    ...detectorTruthLines(detectors),
    ...[shift, reading].filter((line) => line !== null),
    table,
    `${legend} ${choice}`,
    `Verdict: ${verdict}`,
    recommended.sentence,
    ...promises.map((promise) => `Promise: ${promise}`),
  ];
}
