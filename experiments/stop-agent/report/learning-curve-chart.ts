import type { VariantResults } from '../../report/kind-report.ts';
import { type Chart, dots, quantity, series, silent } from '../../report/page/chart.ts';
import type { ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { learningCurveInWords } from '../learning-curve.ts';
import type { TrialResult } from '../result.ts';

/** What more labels brought, of each variant that has a learning curve; null where none has. */
export function learningCurveSection(results: readonly VariantResults<TrialResult>[]): ReportSection | null {
  const curves = results.flatMap(({ variant, trials }) => {
    const { learningCurve: curve = null, seed } = trials.find(({ learningCurve }) => learningCurve !== null) ?? {};
    return curve === null ? [] : [{ variant, curve, seed: trials.length > 1 ? seed : undefined }];
  });
  if (curves.length === 0) return null;
  const several = curves.length > 1;
  const words = curves.map(
    ({ variant, curve, seed }) => `${several ? `${variant}: ` : ''}${learningCurveInWords(curve, seed)}`,
  );
  return {
    id: 'labels',
    title: 'What more labels bring',
    blocks: [...words, { figures: [curveChart(curves, several)] }],
  };
}

function curveChart(
  curves: readonly { variant: string; curve: NonNullable<TrialResult['learningCurve']> }[],
  several: boolean,
): Chart {
  const values = curves.flatMap(({ variant, curve }) =>
    curve.flatMap(({ labels, wholeMacroF1, macroF1, earliness }) => {
      const name = (what: string) => (several ? `${variant}, ${what}` : what);
      const details = (score: number, what: string) => `${name(what)}\n${labels} labels\nmacro-F1 ${score.toFixed(3)}`;
      return [
        { labels, macroF1: wholeMacroF1, name: name('all posts'), details: details(wholeMacroF1, 'all posts') },
        {
          labels,
          macroF1,
          name: name('at the stop'),
          details: `${details(macroF1, 'at the stop')}\n${percent(earliness)} of the posts read`,
        },
      ];
    }),
  );
  const place = {
    x: quantity('labels', {
      title: 'labelled threads',
      scale: { type: 'log', nice: false },
      axis: { values: [...new Set(values.map(({ labels }) => labels))] },
    }),
    y: quantity('macroF1', { title: 'macro-F1', scale: { zero: false }, axis: { tickCount: 5, format: '.2f' } }),
  };
  const color = series('name', [...new Set(values.map(({ name }) => name))]);
  return {
    name: 'learning-curve',
    title: 'Macro-F1 by labels',
    label: `Cross-validated macro-F1 with ${curves[0].curve.map(({ labels }) => labels).join(', ')} labelled threads.`,
    caption: 'The same folds with shares of the labels. A line that still rises says that more labels help.',
    spec: { data: { values }, layer: [silent('line', { ...place, color }), dots({ ...place, color }, {})] },
  };
}
