import { type ConfidentAnswer, calibration } from '../../../src/metrics/calibration.ts';
import { percent } from '../shown-numbers.ts';
import { type Chart, dots, palette, quantity, quiet, silent } from './chart.ts';

/** Share of right answers against confidence, with the diagonal of a system that is as often right as it says; none without answers. */
export function calibrationCharts(
  answers: readonly ConfidentAnswer[],
  options: {
    name: string;
    /** Whose calibration it is, for those who do not see it; the error follows. */
    label: string;
    /** Title of the axis. */
    confidence: string;
  },
): Chart[] {
  const known = calibration(answers);
  return known === null ? [] : [calibrationChart(known, options)];
}

function calibrationChart(
  { bins, expectedError }: NonNullable<ReturnType<typeof calibration>>,
  { name, label, confidence: title }: Parameters<typeof calibrationCharts>[1],
): Chart {
  const values = bins.map((bin) => ({
    ...bin,
    details: `Confidence ${bin.confidence.toFixed(2)}\n${percent(bin.accuracy)} of ${bin.items} right`,
  }));
  const low = Math.min(0.5, ...bins.map(({ confidence }) => Math.floor(confidence * 10) / 10));
  const axis = { tickCount: 5, format: '.1f' };
  const place = {
    x: quantity('confidence', { title, scale: { domain: [low, 1] }, axis }),
    y: quantity('accuracy', { title: 'share that is right', scale: { domain: [0, 1] }, axis }),
  };
  const ends = [low, 1].map((value) => ({ confidence: value, accuracy: value }));
  const size = quantity('items', { legend: null, scale: { range: [30, 260], domainMin: 0 } });
  return {
    name,
    label: `${label} ${expectedError.toFixed(3)}.`,
    spec: {
      width: 240,
      height: 240,
      data: { values },
      layer: [
        { data: { values: ends }, ...silent('line', place, { color: palette.grey, strokeDash: [4, 4] }) },
        silent('line', place, { color: quiet }),
        dots({ ...place, size }, { color: quiet }),
      ],
    },
  };
}
