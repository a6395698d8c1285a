import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { draw, ink, palette, quantity, type Spec } from '../report/page/chart.ts';
import type { Monitored } from './monitor.ts';

/** An SVG: the share of audited predictions or alerts that changed, with its confidence sequence, and below it the e-value. */
export async function monitorPicture(
  { history }: Monitored,
  { level, loss, alarmLevel }: Pick<Guarantee, 'level' | 'loss'> & { alarmLevel: number },
): Promise<string> {
  const changed = loss === 'withdrawn' ? 'withdrawn alerts' : 'changed predictions';
  const values = history.map((watch) => ({
    ...watch,
    rate: watch.losses / watch.items,
    // A logarithmic axis has no room below.
    eValue: Math.max(1e-3, watch.eValue),
  }));
  const audits = quantity('items', { title: 'audits' });
  const limit = (at: number, scale: Spec = {}) => ({
    data: { values: [{ at }] },
    mark: { type: 'rule', strokeDash: [4, 3], color: ink },
    encoding: { y: quantity('at', scale) },
  });
  const log = { scale: { type: 'log' } };
  const shares = { axis: { format: '.0%' }, title: changed };
  const panels = [
    {
      layer: [
        {
          mark: { type: 'area', opacity: 0.25, color: palette.blue },
          encoding: { x: audits, y: quantity('low', shares), y2: { field: 'high' } },
        },
        { mark: { type: 'line', color: palette.blue }, encoding: { x: audits, y: quantity('rate', shares) } },
        limit(level),
      ],
    },
    {
      layer: [
        {
          mark: { type: 'line', color: palette.vermillion },
          encoding: { x: audits, y: quantity('eValue', { ...log, title: 'e-value' }) },
        },
        limit(1 / alarmLevel, log),
      ],
    },
  ];
  const spec = { data: { values }, vconcat: panels.map((panel) => ({ width: 480, height: 140, ...panel })) };
  const title = `Audits: ${changed}`;
  const label = `The share of ${changed} among audits with its confidence sequence, and the e-value`;
  return (
    await draw({
      name: 'monitor',
      title,
      caption:
        'Above: the share with its confidence sequence, and the risk level. Below: the e-value, and where it is an alarm.',
      label,
      spec,
    })
  ).svg;
}
