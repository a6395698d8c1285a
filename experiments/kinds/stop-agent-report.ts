import { resultsOf } from '../report/variant-results.ts';
import { answerOf } from '../stop-agent/report/answer.ts';
import { stopAgentPage } from '../stop-agent/report/stop-agent-page.ts';
import { stopAgentDocument } from '../stop-agent/report/stop-agent-report.ts';
import { summarizeExperiment } from '../stop-agent/report/stop-agent-summary.ts';
import { readTrialResult, trialJson } from '../stop-agent/result.ts';
import type { KindReport } from './kind-report.ts';

export const stopAgentReport: KindReport = {
  json: (variants) => resultsOf(variants, trialJson),
  of(source) {
    const results = resultsOf(source.variants, (run) => readTrialResult(run, { withIntervals: false }));
    const whole = answerOf(results);
    const isMadeUp = results[0].trials[0].threadFile === null;
    const { agents: _, ...answer } = whole;
    return {
      document: stopAgentDocument({ ...source, answer: whole }),
      summary: summarizeExperiment(source.name, whole),
      answer,
      next: [...answer.next, ...(isMadeUp ? ['npx earshot init # the same with your own threads'] : [])],
      page: () => stopAgentPage(source, whole),
    };
  },
};
