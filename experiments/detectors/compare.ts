import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import { hasDecisions, readDecisions } from '../run/decisions-file.ts';
import { detectorDecisionSchema, repliesInWords } from './decisions.ts';
import { readDetectorsResult } from './result.ts';
import { detectorIntervals } from './scores.ts';

/** Two detectors by every metric, after each number of replies that both have seen. */
export function compareDetectors(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const labels = readDetectorsResult(firstRunIn(compared[0].folder));
  return compareSystems(compared, {
    items: 'item',
    labelsOf: (run) => readDetectorsResult(run).labels,
    read: ({ path }) =>
      readDecisions(path, detectorDecisionSchema, hasDecisions(path, 'test') ? 'test' : 'development'),
    keyOf: ({ threadId, replies }) => `${replies}/${threadId}`,
    placeOf: ({ replies }) => ({ title: `After ${repliesInWords(replies)}`, of: { replies } }),
    intervals: (seeds) => detectorIntervals({ labels, seeds, seed }),
    shown: ({ threadId, gold, predicted }) => ({ item: threadId, gold, answer: predicted ?? 'no answer' }),
  });
}
