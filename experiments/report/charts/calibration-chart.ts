import { type ConfidentAnswer, calibration } from '../../../src/metrics/calibration.ts';
import { type Chart, dots, palette, plotWidth, quantity, series, silent } from '../page/chart.ts';
import { percent } from '../shown-numbers.ts';

/** Share of right predictions against confidence, with the diagonal of a system that is right as often as it is sure; none without confidences. */
export function calibrationChart(
  systems: readonly { readonly name: string; readonly answers: readonly ConfidentAnswer[] }[],
  confidence: string,
): Chart[] {
  const known = systems.flatMap(({ name, answers }) => {
    const own = calibration(answers);
    return own === null ? [] : [{ name, ...own }];
  });
  if (known.length === 0) return [];
  const values = known.flatMap(({ name, bins }) =>
    bins.map((bin) => ({
      ...bin,
      name,
      details: `${name}\nconfidence ${bin.confidence.toFixed(2)}\n${percent(bin.accuracy)} of ${bin.items} right`,
    })),
  );
  const low = Math.min(0.5, ...values.map((bin) => Math.floor(bin.confidence * 10) / 10));
  const axis = { tickCount: 5, format: '.1f' };
  const place = {
    x: quantity('confidence', { title: confidence, scale: { domain: [low, 1] }, axis }),
    y: quantity('accuracy', { title: 'share that is right', scale: { domain: [0, 1] }, axis }),
  };
  const names = known.map(({ name }) => name);
  const color = series('name', names, names.length === 1 ? { legend: null } : {});
  const size = quantity('items', { legend: null, scale: { range: [20, 200], domainMin: 0 } });
  const errors = known.map(({ name, expectedError }) => `${name} ${expectedError.toFixed(3)}`).join(', ');
  const diagonal = [low, 1].map((value) => ({ confidence: value, accuracy: value }));
  return [
    {
      name: 'calibration',
      title: 'Calibration',
      label: `Share of right predictions against confidence. Expected calibration error: ${errors}.`,
      caption: `Above the dashed line, predictions are right more often than their confidence; below it, the confidence is too high. Expected calibration error: ${errors}.`,
      spec: {
        height: plotWidth,
        data: { values },
        layer: [
          { data: { values: diagonal }, ...silent('line', place, { color: palette.grey, strokeDash: [4, 4] }) },
          silent('line', { ...place, color }),
          dots({ ...place, size, color }, {}),
        ],
      },
    },
  ];
}
