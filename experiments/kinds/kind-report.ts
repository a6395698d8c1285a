import type { ReportDocument } from '../report/document.ts';
import type { ScreenBlock } from '../report/narrow-table.ts';
import type { Page } from '../report/page/page.ts';
import type { ReportSource, VariantResults, VariantRuns } from '../report/variant-results.ts';

/** What finished runs came to. */
export interface Reported {
  readonly document: ReportDocument;
  /** What a screen shows of it. */
  readonly summary: readonly ScreenBlock[];
  /** What `report.json` opens with. */
  readonly answer: { readonly verdict: string };
  /** Commands that a reader may want next. */
  readonly next: readonly string[];
  /** The document as a page, with pictures. */
  page(): Promise<Page>;
}

/** What shows finished runs of one kind of experiment: at least one of each variant. */
export interface KindReport {
  /** What they came to, intervals included, as `--json` prints it. */
  json(variants: readonly VariantRuns[]): VariantResults<unknown>[];
  of(source: ReportSource): Reported;
}
