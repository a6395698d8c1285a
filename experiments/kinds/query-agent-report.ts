import { queryDocument, summarizeQueryAgents } from '../query-agent/report/query-report.ts';
import { standingOf } from '../query-agent/report/standing.ts';
import { queryJson, readQueryResult } from '../query-agent/result.ts';
import { documentPage } from '../report/page/document-markup.ts';
import { resultsOf } from '../report/variant-results.ts';
import type { KindReport } from './kind-report.ts';

export const queryAgentReport: KindReport = {
  json: (variants) => resultsOf(variants, queryJson),
  of(source) {
    const standing = standingOf(resultsOf(source.variants, readQueryResult));
    const document = queryDocument({ ...source, standing });
    return {
      document,
      summary: summarizeQueryAgents(source.name, standing),
      answer: { verdict: standing.verdict },
      next: [],
      page: async () => ({ html: documentPage(document), pictures: {} }),
    };
  },
};
