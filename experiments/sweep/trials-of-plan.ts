import { counted } from '../../src/counted.ts';
import type { SweepPlan, SweepTrial } from './plan.ts';

export function trialsOfPlan({ members }: SweepPlan): SweepTrial[] {
  return members.flatMap(({ trials }) => trials);
}

/** `6 trials: 3 settings, 2 seeds each`. */
export function sizeOf(plan: SweepPlan): string {
  const [{ trials: seeds }] = plan.members;
  const settings = counted(plan.members.length, 'setting');
  return `${counted(trialsOfPlan(plan).length, 'trial')}: ${settings}, ${counted(seeds.length, 'seed')} each`;
}
