import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { resultsOf, type VariantRuns } from '../report/variant-results.ts';
import { answerOf } from '../stop-agent/report/answer.ts';
import { stopAgentPage } from '../stop-agent/report/stop-agent-page.ts';
import { stopAgentDocument } from '../stop-agent/report/stop-agent-report.ts';
import { summarizeExperiment } from '../stop-agent/report/stop-agent-summary.ts';
import { readTrialResult, trialJson } from '../stop-agent/result.ts';
import type { KindReport } from './kind-report.ts';

const dataSchema = z.looseObject({ data: z.looseObject({ threads: z.string().nullable() }) });

/** Whether the threads are a synthetic stream. */
function isMadeUp([{ directories }]: readonly VariantRuns[]): boolean {
  return RunDirectory.open(directories[0]).readConfig(dataSchema).data.threads === null;
}

export const stopAgentReport: KindReport = {
  json: (variants) => resultsOf(variants, trialJson),
  of(source) {
    const whole = answerOf(resultsOf(source.variants, (run) => readTrialResult(run, { withIntervals: false })));
    const { agents: _, ...answer } = whole;
    return {
      document: stopAgentDocument({ ...source, answer: whole }),
      summary: summarizeExperiment(source.name, whole),
      answer,
      next: [
        ...answer.next,
        ...(isMadeUp(source.variants) ? ['npx earshot init (the same with your own threads)'] : []),
      ],
      page: () => stopAgentPage(source, whole),
    };
  },
};
