import { counted } from '../../src/counted.ts';
import type { SweepPlan, SweepTrial } from './plan.ts';

export function trialsOfPlan({ settings }: SweepPlan): SweepTrial[] {
  return settings.flatMap(({ trials }) => trials);
}

/** `6 trials: 3 settings, 2 seeds each`. */
export function sizeOf(plan: SweepPlan): string {
  const [{ trials: seeds }] = plan.settings;
  const settings = counted(plan.settings.length, 'setting');
  return `${counted(trialsOfPlan(plan).length, 'trial')}: ${settings}, ${counted(seeds.length, 'seed')} each`;
}
