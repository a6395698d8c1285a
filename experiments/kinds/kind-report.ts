import type { Page } from '../report/page/page.ts';
import type { PageSource, ReportSource, VariantResults, VariantRuns } from '../report/variant-results.ts';

/** What shows finished runs of one kind of experiment: at least one of each variant. */
export interface KindReport {
  /** What they came to, intervals included, as `--json` prints it. */
  json(variants: readonly VariantRuns[]): VariantResults<unknown>[];
  /** The report in Markdown, and what a screen shows of it: no line of that is longer than 100 characters. */
  text(source: ReportSource): { report: string; summary: string };
  /** The report as a page. */
  page(source: PageSource): Promise<Page>;
}
