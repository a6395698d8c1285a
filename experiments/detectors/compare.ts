import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import type { MetricInterval } from '../../src/metrics/metric-intervals.ts';
import { hasDecisions, readDecisions } from '../run/decisions-file.ts';
import {
  bySeed,
  type ComparedFolder,
  type Paired,
  pairDecisions,
  refuseOtherLabels,
  runsIn,
} from '../run/paired-decisions.ts';
import { type DetectorDecision, detectorDecisionSchema, detectorName, type Replies } from './decisions.ts';
import { readDetectorsResult } from './result.ts';
import { detectorIntervals, type ScoredLabels } from './scores.ts';

export interface DetectorComparison {
  readonly replies: Replies;
  /** Decisions paired, over all seeds. */
  readonly items: number;
  readonly seeds: number;
  /** First minus second, mean over seeds; see `detectorIntervals`. */
  readonly metrics: readonly MetricInterval[];
  readonly pairs: readonly Paired<DetectorDecision>[];
}

/**
 * Two detectors on the items that both judged, after each number of replies that both have seen.
 * @throws InputError where they share no item, or decide other labels
 */
export function compareDetectors(
  first: ComparedFolder,
  second: ComparedFolder,
  options: { seed: number },
): DetectorComparison[] {
  refuseOtherLabels([first, second], (folder) => labelsOfRuns(folder).labels);
  const labels = labelsOfRuns(first.folder);
  const pairs = pairDecisions<DetectorDecision>([first, second], {
    system: detectorName,
    read: (run) => readDecisions(run, detectorDecisionSchema, hasDecisions(run, 'test') ? 'test' : 'development'),
    keyOf: ({ threadId, replies }) => `${replies}/${threadId}`,
    items: 'item',
  });
  return Array.from(
    groupBy(pairs, ({ left }) => left.replies),
    ([replies, own]) => {
      const seeds = bySeed(own);
      return {
        replies,
        items: own.length,
        seeds: seeds.length,
        metrics: detectorIntervals({ labels, seeds, seed: options.seed }),
        pairs: own,
      };
    },
  );
}

function labelsOfRuns(folder: string): ScoredLabels {
  return readDetectorsResult(RunDirectory.open(join(folder, runsIn(folder)[0])));
}
