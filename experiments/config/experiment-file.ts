import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { decodedText } from '../../src/data/text-encoding.ts';
import { refuseTable } from '../../src/data/thread-file.ts';
import { diskError, InputError } from '../../src/errors.ts';
import { missingPath, missingPathWith } from '../../src/missing-path.ts';
import { seedSchema } from '../../src/seed.ts';
import { quoted } from '../../src/shell-words.ts';
import { parseYaml } from '../../src/yaml.ts';
import { isPlainObject, mergeDeep, overrideOf, type PlainObject } from './overrides.ts';

const name = z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i, 'letters, digits, dots, dashes and underscores only');

/** The first keys of every experiment. */
export const experimentName = name
  .refine(
    (text) => text.toLowerCase() !== 'cache',
    'the folder of this name holds what all runs share, such as paid judgements; choose another name',
  )
  .describe('names the run directories');
export const seedList = z
  .array(seedSchema)
  .min(1)
  .refine((seeds) => new Set(seeds).size === seeds.length, 'a seed stands there twice');
export const experimentSeeds = seedList.default([1, 2, 3, 4, 5]).describe('seeds, with one run for each');

export interface ExperimentHead {
  readonly name: string;
  readonly description: string;
  readonly seeds: readonly number[];
}

export interface ExperimentFile<Experiment extends ExperimentHead> {
  readonly name: string;
  readonly description: string;
  readonly variants: readonly { readonly name: string; readonly experiment: Experiment }[];
}

/**
 * Reads a YAML experiment file. `overrides` apply to the file and to every variant.
 * @throws InputError that names each problem: place, value, reason, and the nearest key for an unknown one
 */
export async function loadVariants<Experiment extends ExperimentHead>(options: {
  path: string;
  raw?: PlainObject;
  overrides: readonly PlainObject[];
  resolve: (raw: PlainObject, source: string) => Experiment | Promise<Experiment>;
  /** Name of the only variant in a file without variants. */
  soleVariant?: string;
}): Promise<ExperimentFile<Experiment>> {
  const { path, overrides, resolve, soleVariant = 'agent' } = options;
  const raw = options.raw ?? (await readExperimentYaml(path));
  const { variants = {}, ...base } = overrides.reduce(mergeDeep, raw);
  if (!isPlainObject(variants)) throw new InputError(`${path}: variants must map names to overrides`);
  const isPlain = Object.keys(variants).length === 0;
  const entries = isPlain ? [[soleVariant, {}] as const] : Object.entries(variants);
  // Where an option fits no variant's object, all get it, and the first says what is wrong with it.
  const aboutVariant = (override: PlainObject, variant: PlainObject): PlainObject => {
    const about = (variant: PlainObject) => overrideOf(override, { base: raw, variant });
    return entries.some(([, variant]) => isPlainObject(variant) && isDeepStrictEqual(about(variant), override))
      ? about(variant)
      : override;
  };
  const resolved = await Promise.all(
    entries.map(async ([variant, over]) => {
      if (!name.safeParse(variant).success || !isPlainObject(over))
        throw new InputError(`${path}: variants.${variant} must be a plain name with a map of overrides`);
      const changes = [over, ...overrides.map((change) => aboutVariant(change, over))];
      const { variants: _, ...merged } = changes.reduce<PlainObject>(mergeDeep, base);
      return { name: variant, experiment: await resolve(merged, isPlain ? path : `${path} (${variant})`) };
    }),
  );
  const { name: experiment, description } = resolved[0].experiment;
  return { name: experiment, description, variants: resolved };
}

/** The map in a YAML file, without defaults. */
export async function readExperimentYaml(path: string): Promise<PlainObject> {
  refuseData(path);
  const recipe = existsSync(path) ? undefined : recipeLike(path);
  if (recipe !== undefined) throw new InputError(`there is no ${path}; the recipe of that name is ${quoted(recipe)}`);
  if (!existsSync(path) && !/\.ya?ml$/i.test(path))
    throw new InputError(missingPathWith('Give an experiment file, or a folder of runs', path, isRunsOrFile));
  const value = await readYamlMap(path, { what: 'experiment', holds: 'of settings, such as "name: my-experiment"' });
  const { name: experiment, kind, detector } = value;
  if (experiment === undefined && kind === undefined && isPlainObject(detector) && 'name' in detector)
    throw new InputError(
      `${path} is a detector file, and an experiment file is needed: name it in one as detector.file, or test it with \`earshot detect threads.jsonl --detector ${quoted(path)}\``,
    );
  return value;
}

/** True if the path could name an experiment. */
function isRunsOrFile(path: string): boolean {
  return /\.ya?ml$/i.test(path) || (statSync(path).isDirectory() && basename(path) !== 'cache');
}

/** The recipe of this name, in the checkout or in the package beside the compiled program. */
function recipeLike(path: string): string | undefined {
  const name = basename(path).replace(/(\.ya?ml)?$/, '.yaml');
  return ['../recipes/', '../../../experiments/recipes/']
    .map((folder) => relative('', fileURLToPath(new URL(folder + encodeURIComponent(name), import.meta.url))))
    .find((recipe) => existsSync(recipe));
}

/** @throws InputError for a file of threads or a table, with the command that makes an experiment of it */
function refuseData(path: string): void {
  refuseTable(path, { after: ', then an experiment file: `earshot init threads.jsonl`' });
  if (/\.jsonl(?:\.gz)?$/i.test(path))
    throw new InputError(
      `${path} holds threads, and an experiment file is needed: \`earshot init ${quoted(path)}\` asks what you want and writes one`,
    );
}

/**
 * The map in a YAML file of any kind, without defaults.
 * @param options.what the kind of file, such as "experiment"
 * @param options.holds the content of its map
 * @throws InputError for an unreadable file or other content
 */
export async function readYamlMap(path: string, options: { what: string; holds: string }): Promise<PlainObject> {
  if (!existsSync(path)) throw new InputError(missingPath(path, (other) => /\.ya?ml$/i.test(other)));
  const bytes = await readFile(path).catch((error) => {
    throw diskError(error, { what: `read the ${options.what} ${path}` });
  });
  // PowerShell writes UTF-16 where output goes to a file.
  const text = decodedText(bytes);
  const value = parseYaml(text, `${path} is`);
  if (isPlainObject(value)) return value;
  throw new InputError(`${path} must hold a map ${options.holds}`);
}
