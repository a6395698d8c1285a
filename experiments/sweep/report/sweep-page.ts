import { markdownOf } from '../../report/document.ts';
import { figure } from '../../report/page/chart.ts';
import { documentPage } from '../../report/page/document-markup.ts';
import { type SweepReport, sweepDocument } from './sweep-report.ts';

/** SVG by file name, as `sweepPictures` draws them. */
type Pictures = Readonly<Record<string, string>>;

/** The report of a sweep in Markdown, with links to its pictures. */
export function sweepMarkdown(report: SweepReport, pictures: Pictures): string {
  const blocks = Object.keys(pictures).map((name) => `![${name}](${name})`);
  const { sections, ...document } = sweepDocument(report);
  const section = blocks.length === 0 ? [] : [{ id: 'pictures', title: 'Pictures', blocks }];
  return markdownOf({ ...document, sections: [...sections, ...section] });
}

/** The same as a page, with the pictures in it. */
export function sweepPage(report: SweepReport, pictures: Pictures): string {
  const further = Object.entries(pictures).map(([file, svg]) => {
    const { title, caption } = known[file];
    const id = file.replace(/\.svg$/, '');
    const label = `${title}. Arrow keys go through the marks.`;
    return { id, title, body: figure({ name: id, label, svg }, caption) };
  });
  return documentPage(sweepDocument(report), { further });
}

const known: Readonly<Record<string, { title: string; caption: string }>> = {
  'front.svg': {
    title: 'Front',
    caption: 'Settings and rules on the development part; the stairs are what no other system beats in both aims.',
  },
  'heat-map.svg': { title: 'Heat map', caption: 'Mean objective over two options, averaged over all others.' },
  'triangle.svg': {
    title: 'Triangle',
    caption: 'Ratio of the experts: α conservative above, β early action left, γ misleading right.',
  },
  'seeds.svg': {
    title: 'Spread over seeds',
    caption: 'A dot a seed, the bar their mean. Settings whose dots mix are not told apart.',
  },
};
