import { queryDocument, queryPage, summarizeQueryAgents } from '../query-agent/report/query-report.ts';
import { standingOf } from '../query-agent/report/standing.ts';
import { queryJson, readQueryResult } from '../query-agent/result.ts';
import { markdownOf } from '../report/document.ts';
import { resultsOf } from '../report/variant-results.ts';
import type { KindReport } from './kind-report.ts';

export const queryAgentReport: KindReport = {
  json: (variants) => resultsOf(variants, queryJson),
  text(source) {
    const standing = standingOf(resultsOf(source.variants, (run) => readQueryResult(run)));
    return {
      report: markdownOf(queryDocument({ ...source, standing })),
      summary: (width) => summarizeQueryAgents({ ...source, standing, width }),
      answer: { verdict: standing.verdict },
      next: [],
    };
  },
  page: queryPage,
};
