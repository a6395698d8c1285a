import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { seedSchema } from '../../src/seed.ts';
import { checkedConfig } from '../config/config-problems.ts';
import { experimentName, readExperimentYaml, seedList } from '../config/experiment-file.ts';
import { isPlainObject, mergeDeep, type PlainObject } from '../config/overrides.ts';

const path = z.string().regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)*$/, 'a path such as agent.imitation.alpha');
const expression = z.string().min(1);

/** A sweep makes a folder for each of its trials, and its report names them all. */
export const trialsAtMost = 10_000;

const rangeSchema = z
  .strictObject({
    from: z.number().describe('the smallest value'),
    to: z.number().describe('the largest value'),
    scale: z
      .enum(['linear', 'log'])
      .default('linear')
      .describe('log: every factor of ten is drawn from equally often; both ends must then be above 0'),
    integer: z.boolean().default(false).describe('whole numbers only'),
    steps: z
      .int()
      .min(2)
      .nullable()
      .default(null)
      .describe('values that a grid takes from the range, both ends included'),
  })
  .refine(({ from, to }) => from < to, 'from must be below to')
  .refine(({ from, scale }) => scale === 'linear' || from > 0, 'a range of scale: log must begin above 0')
  .describe('a range of numbers');
export type Range = z.output<typeof rangeSchema>;

export const sweepSchema = z
  .strictObject({
    kind: z.literal('sweep'),
    name: experimentName,
    description: z.string().default(''),
    experiment: z
      .union([z.string().min(1), z.record(z.string(), z.unknown())], 'name an experiment file, or write an experiment')
      .describe('what is swept: an experiment file, found from the folder of this file, or an experiment written here'),
    variant: z.string().nullable().default(null).describe('which of its variants, where the experiment has any'),
    settings: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('changes to the experiment that hold for all trials, laid out as in an experiment file'),
    seeds: seedList.nullable().default(null).describe('seeds of every setting; null for the experiment’s'),
    space: z
      .record(path, z.union([z.array(z.unknown()).min(1), rangeSchema]))
      .refine((space) => Object.keys(space).length > 0, 'at least one path must be swept')
      .describe(
        'what is swept: for each path of the experiment a list of values, or a range { from, to, scale, integer, steps }',
      ),
    derived: z
      .record(path, expression)
      .default({})
      .describe('paths whose value follows from the swept ones, such as agent.imitation.beta: (1 - alpha) / 2'),
    constraints: z
      .array(expression)
      .default([])
      .describe('what settings must meet, such as alpha + beta > gamma; the others are left out'),
    method: z
      .discriminatedUnion('name', [
        z.strictObject({ name: z.literal('grid').describe('every combination of the values') }),
        z.strictObject({
          name: z.literal('random').describe('settings drawn at random'),
          trials: z.int().min(1).max(trialsAtMost).describe('settings to draw; each is run with every seed'),
          seed: seedSchema.default(1).describe('fixes what is drawn'),
        }),
      ])
      .default({ name: 'grid' })
      .describe('how settings are chosen from the space'),
    objective: z
      .strictObject({
        maximise: expression
          .nullable()
          .default(null)
          .describe(
            'what the best setting has most of, on the development part: a metric or an expression of metrics, such as macroF1 - 0.1 * er; null for macroF1, and veracity.macroF1 of a selector',
          ),
        where: z
          .array(expression)
          .default([])
          .describe('what a setting must meet to be recommended, means over seeds, such as er <= 0.3'),
      })
      .prefault({}),
    pictures: z
      .strictObject({
        heatMap: z
          .array(path)
          .length(2)
          .nullable()
          .default(null)
          .describe('the two swept paths of the heat map; null for the first two'),
      })
      .prefault({}),
  })
  .superRefine(({ space, derived, pictures }, { addIssue }) => {
    const paths = [...Object.keys(space), ...Object.keys(derived)];
    const refuse = (path: string, message: string) =>
      addIssue({ code: 'custom', path: [Object.hasOwn(space, path) ? 'space' : 'derived', path], message });
    for (const path of paths) {
      const within = paths.find((other) => other.startsWith(`${path}.`));
      if (['seeds', 'name', 'description', 'kind'].includes(path))
        refuse(path, 'cannot be swept; every setting is run with every seed of `seeds`');
      if (Object.hasOwn(space, path) && Object.hasOwn(derived, path))
        refuse(path, 'both swept and derived; it can be one of the two');
      if (within !== undefined)
        refuse(
          path,
          `holds ${within}, so that one would replace the other; sweep ${within} alone, or write its values into those of ${path}`,
        );
    }
    const unknown = pictures.heatMap?.find((path) => !paths.includes(path));
    if (unknown !== undefined)
      addIssue({
        code: 'custom',
        path: ['pictures', 'heatMap'],
        message: `names ${unknown}, which is not swept; there are ${paths.join(', ')}`,
      });
  })
  .describe('a sweep: one experiment, what of it varies, and what the best setting is');
export type SweepFile = z.output<typeof sweepSchema>;
export type Method = SweepFile['method'];

/** A sweep as its folder keeps it. */
export const loadedSweepSchema = z.object({
  sweep: sweepSchema,
  /** The experiment as it is written, with its variant, the settings of the sweep and the overrides on top. */
  experiment: z.record(z.string(), z.unknown()),
  /** Names the experiment in messages. */
  source: z.string(),
});
export type LoadedSweep = Readonly<z.output<typeof loadedSweepSchema>>;

/**
 * Reads a sweep file and the experiment that it names.
 * @param options.overrides go on top of the experiment
 * @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one
 */
export async function loadSweepFile(
  file: string,
  options: { overrides: readonly PlainObject[] },
): Promise<LoadedSweep> {
  const input = await readExperimentYaml(file);
  const sweep = checkedConfig({ schema: sweepSchema, input, wrong: `${file} is not a valid sweep` });
  const named = typeof sweep.experiment === 'string' ? resolve(dirname(file), sweep.experiment) : null;
  const raw = typeof sweep.experiment === 'string' ? await readExperimentYaml(named ?? '') : sweep.experiment;
  const source = typeof sweep.experiment === 'string' ? `${file} (${sweep.experiment})` : `${file} (experiment)`;
  const { variants = {}, ...base } = raw;
  const over = chosenVariant(variants, { variant: sweep.variant, source });
  const experiment = [over, sweep.settings, ...options.overrides].reduce<PlainObject>(mergeDeep, base);
  return { sweep, experiment, source };
}

function chosenVariant(
  variants: unknown,
  { variant, source }: { variant: string | null; source: string },
): PlainObject {
  const named = isPlainObject(variants) ? variants : {};
  const names = Object.keys(named);
  if (variant === null && names.length === 0) return {};
  const chosen = variant === null ? undefined : named[variant];
  if (isPlainObject(chosen)) return chosen;
  throw new InputError(
    `${source}: variant is ${JSON.stringify(variant)}; ${names.length === 0 ? 'the experiment has no variants, so leave it out' : `it must be one of ${names.join(', ')}`}`,
  );
}
