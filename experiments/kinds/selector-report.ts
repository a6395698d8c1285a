import { resultsOf } from '../report/variant-results.ts';
import { selectorPage } from '../selector/report/selector-page.ts';
import { renderSelectorReport } from '../selector/report/selector-report.ts';
import { summarizeSelectorExperiment } from '../selector/report/selector-summary.ts';
import { readSelectorResult, selectorJson } from '../selector/result.ts';
import type { KindReport } from './kind-report.ts';

export const selectorReport: KindReport = {
  json: (variants) => resultsOf(variants, selectorJson),
  text(source) {
    const results = resultsOf(source.variants, readSelectorResult);
    return {
      report: renderSelectorReport({ ...source, results }),
      summary: summarizeSelectorExperiment({ ...source, results }),
    };
  },
  page: selectorPage,
};
