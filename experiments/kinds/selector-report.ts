import { quoted } from '../../src/shell-words.ts';
import { resultsOf } from '../report/variant-results.ts';
import { selectorPage } from '../selector/report/selector-page.ts';
import { selectorDocument } from '../selector/report/selector-report.ts';
import { summarizeSelectorExperiment } from '../selector/report/selector-summary.ts';
import { selectorVerdict } from '../selector/report/selector-verdict.ts';
import { readSelectorResult, selectorJson } from '../selector/result.ts';
import type { KindReport } from './kind-report.ts';

export const selectorReport: KindReport = {
  json: (variants) => resultsOf(variants, selectorJson),
  of(source) {
    const results = resultsOf(source.variants, readSelectorResult);
    const lastRun = source.variants.at(-1)?.directories.at(-1) ?? '';
    const document = selectorDocument({ ...source, results });
    return {
      document,
      summary: summarizeSelectorExperiment(source.name, results),
      answer: { verdict: `${selectorVerdict(results)}.` },
      next: [
        `npx earshot select ${quoted(lastRun)} --out selected.jsonl`,
        'npx earshot select labels.csv --text text --label machine_label --gold gold_label --out selected.csv # machine labels of your own',
      ],
      page: () => selectorPage(document, results),
    };
  },
};
