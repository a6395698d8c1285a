import type { Page } from '../report/page/page.ts';
import type { PageSource, ReportSource, VariantResults, VariantRuns } from '../report/variant-results.ts';

/** A report as text. */
export interface ReportTexts {
  /** In Markdown. */
  readonly report: string;
  /** What a screen shows of it, in lines of so many characters. */
  readonly summary: (width: number) => string;
  /** What `report.json` opens with. */
  readonly answer: { readonly verdict: string };
  /** Commands that a reader may want next. */
  readonly next: readonly string[];
}

/** What shows finished runs of one kind of experiment: at least one of each variant. */
export interface KindReport {
  /** What they came to, intervals included, as `--json` prints it. */
  json(variants: readonly VariantRuns[]): VariantResults<unknown>[];
  text(source: ReportSource): ReportTexts;
  /** The report as a page. */
  page(source: PageSource): Promise<Page>;
}
