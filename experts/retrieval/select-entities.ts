import { z } from 'zod';
import type { Entity } from './entity.ts';

export const entityThresholdSchema = z
  .strictObject({
    initial: z.number().min(0).max(1).default(0.8).describe('confidence asked for at first (λ_init)'),
    step: z.number().min(0.001).max(1).default(0.1).describe('lowered by this while too few entities reach it (Δλ)'),
    floor: z.number().min(0).max(1).default(0.1).describe('never lowered further'),
    minEntities: z.int().min(1).default(1).describe('entities wanted (n_min)'),
  })
  .refine(({ initial, floor }) => floor <= initial, 'floor must not exceed initial')
  .prefault({})
  .describe('how sure the recogniser must be of an entity');

/** Algorithm 2: the entities above the highest threshold of the schedule that enough of them reach. */
export function selectEntities(options: {
  entities: readonly Entity[];
  threshold: z.output<typeof entityThresholdSchema>;
}): Entity[] {
  const { entities, threshold } = options;
  let selected: Entity[] = [];
  for (let steps = 0; selected.length < threshold.minEntities; steps++) {
    // Counted in steps and rounded: 0.8 − 7 · 0.1 must be 0.1, not a little less.
    const current = Number((threshold.initial - steps * threshold.step).toFixed(9));
    if (current < threshold.floor) break;
    selected = entities.filter(({ confidence }) => confidence >= current);
  }
  return selected;
}
