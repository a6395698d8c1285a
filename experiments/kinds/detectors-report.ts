import { quoted } from '../../src/shell-words.ts';
import { detectorsPage } from '../detectors/report/detectors-page.ts';
import { detectorsDocument, summarizeDetectors } from '../detectors/report/detectors-report.ts';
import { standingOf } from '../detectors/report/standing.ts';
import { detectorsJson, readDetectorsResult } from '../detectors/result.ts';
import { resultsOf } from '../report/variant-results.ts';
import type { KindReport } from './kind-report.ts';

export const detectorsReport: KindReport = {
  json: (variants) => resultsOf(variants, detectorsJson),
  of(source) {
    const standing = standingOf(resultsOf(source.variants, readDetectorsResult));
    const [first, second] = source.variants.map(({ directories }) =>
      quoted(directories[0].replace(/\/seed-[^/]*$/, '')),
    );
    const document = detectorsDocument({ ...source, standing });
    return {
      document,
      summary: summarizeDetectors(source.name, standing),
      answer: { verdict: standing.verdict },
      next: second === undefined ? [] : [`npx earshot compare ${first} ${second} --html`],
      page: () => detectorsPage(document, { ...source, standing }),
    };
  },
};
