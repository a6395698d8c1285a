/**
 * Trials in groups of one shape, each as large as the size allows, in the order of their first trials. A trial whose shape is
 * null is alone.
 */
export function inPopulations<Trial>(
  trials: readonly Trial[],
  options: { size: number; shapeOf: (trial: Trial) => string | null },
): Trial[][] {
  const { size, shapeOf } = options;
  const groups: Trial[][] = [];
  const open = new Map<string, Trial[]>();
  for (const trial of trials) {
    const shape = shapeOf(trial);
    const group = shape === null ? undefined : open.get(shape);
    if (group !== undefined && group.length < size) {
      group.push(trial);
      continue;
    }
    const started = [trial];
    groups.push(started);
    if (shape !== null) open.set(shape, started);
  }
  return groups;
}
