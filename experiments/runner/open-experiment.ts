import { InputError } from '../../src/errors.ts';
import { loadVariants, readExperimentYaml } from '../config/experiment-file.ts';
import { isPlainObject, mergeDeep, type PlainObject } from '../config/overrides.ts';
import { memberOf, type OpenedExperiment } from '../kinds/experiment-kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { planSweep } from '../sweep/plan.ts';
import { loadSweepFile } from '../sweep/sweep-file.ts';
import { differencesOf } from './experiment-folder.ts';

export interface ExperimentSource {
  /** File of an experiment or of a sweep. */
  path: string;
  /** The content, if there is no file. */
  raw?: PlainObject;
  overrides: readonly PlainObject[];
  /** In place of those of the file. */
  name?: string;
  seeds?: readonly number[];
  /** Only these variants; all of them unless given. */
  variants?: readonly string[];
  /** In place of the file's threads. */
  data?: string;
  runs: string;
}

/**
 * The experiment under a name that no runs of other settings or other files have: its own, else `<name>-2`, `<name>-3`, …
 * @returns with the name that is taken, and what differs there; null where it keeps its own
 * @throws InputError for a file that is no valid experiment
 */
export async function openBesideOthers(
  source: ExperimentSource,
): Promise<{ experiment: OpenedExperiment; others: { name: string; differences: string[] } | null }> {
  const experiment = await openExperiment(source);
  const differences = await differencesOf(experiment);
  if (differences.length === 0) return { experiment, others: null };
  const { name } = experiment;
  for (let number = 2; ; number++) {
    const experiment = await openExperiment({ ...source, name: `${name}-${number}` });
    if ((await differencesOf(experiment)).length === 0) return { experiment, others: { name, differences } };
  }
}

/** @throws InputError for a file that is no valid experiment or sweep */
export async function openExperiment(source: ExperimentSource): Promise<OpenedExperiment> {
  const { path, raw = await readExperimentYaml(path) } = source;
  return raw.kind === 'sweep' ? openSweep(source) : openVariants(raw, source);
}

async function openSweep({ path, overrides, name, seeds, variants, data, runs }: ExperimentSource) {
  if (variants !== undefined)
    throw new InputError(`--variants is for experiments; the sweep ${path} names the variant that it sweeps itself`);
  const { sweep, experiment, source } = await loadSweepFile(path, { overrides });
  const kind = await kindOf(experiment.kind, source);
  const loaded = {
    sweep: { ...sweep, name: name ?? sweep.name, seeds: seeds === undefined ? sweep.seeds : [...seeds] },
    experiment: data === undefined ? experiment : mergeDeep(experiment, kind.dataOverride(data)),
    source,
  };
  return planSweep(loaded, { runs });
}

async function openVariants(raw: PlainObject, source: ExperimentSource): Promise<OpenedExperiment> {
  const { path, overrides, name, seeds, data, runs } = source;
  const kind = await kindOf(raw.kind, path);
  const overridesOfOptions: PlainObject[] = [
    ...overrides,
    ...(seeds === undefined ? [] : [{ seeds }]),
    ...(name === undefined ? [] : [{ name }]),
    ...(data === undefined ? [] : [kind.dataOverride(data)]),
  ];
  const { resolve, soleVariant } = kind;
  const load = (all: readonly PlainObject[]) => loadVariants({ path, raw, overrides: all, resolve, soleVariant });
  const loaded = await load(overridesOfOptions);
  const readsFiles = loaded.variants.some(({ experiment }) => experiment.threadFiles.length > 0);
  // What a file says of the threads that it makes is not said of others.
  const makesThreads = isPlainObject(raw.data) && ('synthetic' in raw.data || 'planted' in raw.data);
  const file = makesThreads && readsFiles ? await load([{ description: '' }, ...overridesOfOptions]) : loaded;
  const names = file.variants.map((variant) => variant.name);
  const unknown = source.variants?.find((variant) => !names.includes(variant));
  if (unknown !== undefined)
    throw new InputError(`${file.name} has no variant ${JSON.stringify(unknown)}; there are ${names.join(', ')}`);
  const head = { name: file.name, description: file.description, kind, runs };
  const members = file.variants
    .filter((variant) => source.variants?.includes(variant.name) ?? true)
    .map((variant) => memberOf(head, { name: variant.name, resolved: variant.experiment }));
  return { ...head, members };
}
