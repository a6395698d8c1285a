import { calibrationCharts } from '../../report/page/calibration-chart.ts';
import {
  type Chart,
  category,
  dots,
  ordered,
  palette,
  quantity,
  type Spec,
  seriesColour,
  silent,
} from '../../report/page/chart.ts';
import { withInterval } from '../../report/shown-numbers.ts';
import { repliesInWords } from '../decisions.ts';
import { columnsOf, confidentAnswers } from '../scores.ts';
import { allReplies, type DetectorPoint, type DetectorStanding, type Standing } from './standing.ts';

/** Detectors in the order of the file. */
function colour(detectors: readonly DetectorStanding[], options: Spec = { title: null, sort: null }) {
  const domain = detectors.map(({ variant }) => variant);
  return category('variant', { ...options, scale: { domain, range: domain.map(seriesColour) } });
}

function tokensOf({ values }: DetectorPoint): number {
  return (values.inputTokens ?? 0) + (values.outputTokens ?? 0);
}

function pointsOf(detectors: readonly DetectorStanding[]) {
  return detectors.flatMap(({ variant, points }) =>
    points.map((point) => {
      const { estimate, low, high } = point.macroF1;
      return {
        variant,
        posts: repliesInWords(point.replies),
        macroF1: estimate,
        low,
        high,
        tokens: tokensOf(point),
        isLast: point === points[points.length - 1],
        details: `${variant}, ${repliesInWords(point.replies)}\nmacro-F1 ${withInterval(point.macroF1)}`,
      };
    }),
  );
}

const score = { title: 'macro-F1', scale: { zero: false, padding: 8 } };

/** Macro-F1 of each after the most posts, beside always saying the most common label. */
export function scoreChart({ detectors, majority }: Standing): Chart {
  const values = pointsOf(detectors).filter(({ isLast }) => isLast);
  const x = quantity('macroF1', score);
  const y = category('variant', { title: null, sort: null });
  const color = colour(detectors, { legend: null });
  return {
    name: 'scores',
    label: `Macro-F1 with 95 % intervals over seeds and items; the dashed line is always ${majority.label}.`,
    spec: {
      width: 260,
      height: { step: 24 },
      data: { values },
      layer: [
        { data: { values: [majority] }, ...silent('rule', { x }, { color: palette.grey, strokeDash: [4, 4] }) },
        silent('rule', { y, x: quantity('low', score), x2: { field: 'high' }, color }),
        dots({ y, x, color }, { size: 70 }),
      ],
    },
  };
}

/** Macro-F1 against tokens; null where no detector says what it took. */
export function priceChart(detectors: readonly DetectorStanding[]): Chart | null {
  if (!detectors.some(({ last }) => tokensOf(last) > 0)) return null;
  const values = pointsOf(detectors).filter(({ isLast }) => isLast);
  const tokens = { title: 'tokens of a judgement', scale: { type: 'symlog' }, axis: { tickCount: 5 } };
  const position = { x: quantity('tokens', tokens), y: quantity('macroF1', score) };
  return {
    name: 'price',
    label: 'Macro-F1 against the tokens of a judgement, read and written.',
    spec: {
      width: 260,
      height: 220,
      data: { values },
      ...dots({ ...position, color: colour(detectors) }, { size: 90 }),
    },
  };
}

/** Macro-F1 by posts read. */
export function curveChart(detectors: readonly DetectorStanding[]): Chart {
  const order = allReplies(detectors).map(repliesInWords);
  const x = ordered('posts', { title: 'read', sort: order, axis: { labelAngle: -30 } });
  const y = quantity('macroF1', score);
  const color = colour(detectors);
  return {
    name: 'posts-read',
    label: `Macro-F1 of ${detectors.length} detectors by posts read.`,
    spec: {
      width: 560,
      height: 280,
      data: { values: pointsOf(detectors) },
      layer: [
        silent('rule', { x, y: quantity('low', score), y2: { field: 'high' }, color }, { opacity: 0.4 }),
        silent('line', { x, y, color }),
        dots({ x, y, color }, { size: 60 }),
      ],
    },
  };
}

/** Of every detector whose answers have probabilities. */
export function detectorCalibrations(detectors: readonly DetectorStanding[]): Chart[] {
  return detectors.flatMap(({ variant, trials, last }, place) =>
    calibrationCharts(confidentAnswers(columnsOf(trials[0], last.decisions)), {
      name: `calibration-${place + 1}`,
      label: `${variant}: expected calibration error`,
      confidence: 'probability of the answer',
    }),
  );
}
