import type { CalibrationBin } from '../../../src/metrics/calibration.ts';
import { percent } from '../shown-numbers.ts';
import { type Chart, palette, quiet } from './chart.ts';

/** Share of right answers against confidence, with the diagonal of a system that is as often right as it says. */
export function calibrationChart(options: {
  name: string;
  /** What it shows, for those who do not see it. */
  label: string;
  bins: readonly CalibrationBin[];
  /** Title of the axis. */
  confidence: string;
}): Chart {
  const { name, label, bins, confidence: title } = options;
  const values = bins.map((bin) => ({
    ...bin,
    details: `Confidence ${bin.confidence.toFixed(2)}\n${percent(bin.accuracy)} of ${bin.items} right`,
  }));
  const low = Math.min(0.5, ...bins.map(({ confidence }) => Math.floor(confidence * 10) / 10));
  const axis = (field: 'confidence' | 'accuracy', heading: string, from: number) =>
    ({
      field,
      type: 'quantitative',
      title: heading,
      scale: { domain: [from, 1] as number[] },
      axis: { tickCount: 5, format: '.1f' },
    }) as const;
  const place = {
    x: axis('confidence', title, low),
    y: axis('accuracy', 'share that is right', 0),
  };
  return {
    name,
    label,
    spec: {
      width: 240,
      height: 240,
      layer: [
        {
          data: {
            values: [
              { confidence: low, accuracy: low },
              { confidence: 1, accuracy: 1 },
            ],
          },
          mark: { type: 'line', aria: false, color: palette.grey, strokeDash: [4, 4] },
          encoding: place,
        },
        { data: { values }, mark: { type: 'line', aria: false, color: quiet }, encoding: place },
        {
          data: { values },
          mark: { type: 'point', filled: true, color: quiet, opacity: 1 },
          encoding: {
            ...place,
            size: { field: 'items', type: 'quantitative', legend: null, scale: { range: [30, 260], domainMin: 0 } },
            description: { field: 'details', type: 'nominal' },
          },
        },
      ],
    },
  };
}
