import { readFileSync } from 'node:fs';
import { bundleFiles } from '../../checkpoints/bundle/manifest.ts';
import { checkParity, type Parity, type ParityOutputs } from '../../checkpoints/bundle/parity.ts';
import {
  type RetentionNetwork,
  retentionModel,
  retentionNames,
  retentionWeights,
} from '../../checkpoints/bundle/retention-network.ts';
import { bundleContents, checkFree, writeBundle } from '../../checkpoints/bundle/write-bundle.ts';
import { provenance } from '../../checkpoints/run-record.ts';
import { floatsToBase64 } from '../../src/base64-floats.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { retainProbability, type SelectorPolicy } from '../../trainers/selector/policy.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import { type Level, levels, type SelectorTraining } from '../../trainers/selector/setup.ts';
import { loadSelectorThreads, selectorClaim } from './data.ts';
import { type OpenedSelectorRun, openSelectorRun, trainingThreads } from './open-selector-run.ts';
import { selectorJson } from './result.ts';
import { selectorCard } from './selector-card.ts';
import type { LevelDefinition, SelectorManifest } from './selector-manifest.ts';
import { selectorWorkshop } from './shared.ts';

const formatVersion = 1;

/** Threads whose states are golden. Their texts do not become part of the bundle. */
const goldenThreads = 16;

/** Random states that parity is checked on. */
const randomStates = 1024;

const outputs: ParityOutputs = {
  probability: retentionNames.retainProbability,
  action: retentionNames.action,
  symbol: 'π(retain)',
  isActed: (probability) => probability >= 0.5,
};

const pythonReader = new URL('../../checkpoints/bundle/earshot_selector.py', import.meta.url);

export interface ExportedSelector {
  readonly parity: Readonly<Record<string, Parity>>;
  readonly goldenItems: number;
}

/**
 * Writes a run's selector as a bundle: a policy for each level that it decides at. Nothing is written unless the ONNX files
 * decide as the checkpoint does.
 * @param options.data threads to take golden states from; null for the run's training data
 * @param options.runs folder with the shared cache
 * @throws InputError when the run, its data or the folder cannot be used; Error that says where an ONNX file and the
 *   checkpoint differ
 */
export async function exportSelectorRun(options: {
  run: string;
  out: string;
  data: string | null;
  runs: string;
  context: WorkContext;
}): Promise<ExportedSelector> {
  const { out, runs, context } = options;
  checkFree(out);
  const workshop = selectorWorkshop({ runs });
  try {
    const opened = await openSelectorRun({ run: options.run, workshop, budget: {}, context });
    const decided = levels.filter((level) => opened.experiment.selector.retain[level] === 'policy');
    if (decided.length === 0)
      throw new InputError(
        `the selector of ${options.run} retains all posts and claims, so there is nothing to export`,
      );
    const states = await goldenStates(opened, { data: options.data, context });
    const networks = Object.fromEntries(decided.map((level) => [level, networkOf(opened.training.policies[level])]));
    const models = Object.fromEntries(decided.map((level) => [level, retentionModel(networks[level])]));
    const parity: Record<string, Parity> = {};
    const golden: string[] = [];
    for (const level of decided) {
      const policy = opened.training.policies[level];
      parity[level] = await parityOf(level, { policy, states: states[level], model: models[level] });
      for (const state of states[level]) {
        const item = { level, state: floatsToBase64(state), retainProbability: retainProbability(policy, state) };
        golden.push(`${JSON.stringify(item)}\n`);
      }
    }
    const manifest = manifestOf(opened, { decided, parity });
    const contents = await bundleContents({
      manifest,
      files: {
        ...Object.fromEntries(decided.map((level) => [onnxFileOf(level), models[level]])),
        'selector.safetensors': retentionWeights(networks),
        [bundleFiles.golden]: golden.join(''),
        [bundleFiles.trained]: `${JSON.stringify([...opened.trained].sort())}\n`,
        'earshot_selector.py': readFileSync(pythonReader),
        [bundleFiles.card]: selectorCard(manifest),
      },
    });
    writeBundle(out, contents);
    return { parity, goldenItems: golden.length };
  } finally {
    workshop.close();
  }
}

const onnxFileOf = (level: Level) => `${level}.onnx`;

function networkOf({ features, hidden, parameters }: SelectorPolicy): RetentionNetwork {
  return { inputs: features, hidden, parameters };
}

/** The states that the policies meet in some threads. */
async function goldenStates(
  { run, experiment, training }: OpenedSelectorRun,
  { data, context }: { data: string | null; context: WorkContext },
): Promise<Record<Level, Float32Array[]>> {
  const threads =
    data === null
      ? await trainingThreads({ run, experiment, context })
      : await loadSelectorThreads(data, { data: experiment.data, onNote: context.onNote });
  const states: Record<Level, Float32Array[]> = { posts: [], claims: [] };
  await selectGreedily({
    settings: training.settings,
    policies: training.policies,
    claims: threads.slice(0, goldenThreads).map(selectorClaim),
    onState: (level, state) => states[level].push(state),
    signal: context.signal,
  });
  return states;
}

async function parityOf(
  level: Level,
  { policy, states, model }: { policy: SelectorPolicy; states: readonly Float32Array[]; model: Uint8Array },
): Promise<Parity> {
  const draws = Random.seeded({ seed: 1, purpose: `parity of ${level}` });
  const { features } = policy;
  const drawn = Array.from({ length: randomStates }, () =>
    Float32Array.from({ length: features }, () => draws.normal()),
  );
  const extremes = [0, 1e-38, 1, -1, 1e30, -1e30].map((value) => new Float32Array(features).fill(value));
  const probe = (name: string, own: readonly Float32Array[]) => ({
    name: `${name} ${level}`,
    states: Float32Array.from(own.flatMap((state) => [...state])),
    columns: features,
    expected: Float64Array.from(own, (state) => retainProbability(policy, state)),
  });
  return checkParity(model, [probe('golden', states), probe('random', drawn), probe('extreme', extremes)], outputs);
}

function manifestOf(
  opened: OpenedSelectorRun,
  { decided, parity }: { decided: readonly Level[]; parity: Readonly<Record<string, Parity>> },
): SelectorManifest {
  const { run, experiment, tools, training } = opened;
  const { claims, stanceModel, veracityModel } = training.settings;
  const { earshot, git } = provenance();
  const labelled = claims.filter(({ label }) => label !== null).length;
  return {
    format: 'earshot-selector',
    formatVersion,
    madeBy: { earshot, commit: git?.commit ?? null },
    levels: Object.fromEntries(decided.map((level) => [level, definitionOf(level, training)])),
    rule: 'retain an item where the probability of retaining it is at least one half',
    encoder: tools.embeddings.encoderIdentity,
    taskModels: { stance: stanceModel.identity, veracity: veracityModel.identity },
    training: {
      seed: training.settings.seed,
      epochs: training.epoch,
      claims: { labelled, unlabelled: claims.length - labelled },
      experiment,
      hashes: run.readRecord().hashes,
    },
    measures: run.isFinished() ? selectorJson(run) : null,
    parity,
  };
}

function definitionOf(level: Level, { settings, policies }: SelectorTraining): LevelDefinition {
  const { dimensions, config, stanceModel, veracityModel } = settings;
  const { classes } = level === 'posts' ? stanceModel : veracityModel;
  const retained = level === 'posts' ? 'posts of this claim' : 'claims';
  const fields = [
    { name: 'claim', count: dimensions, meaning: 'embedding of the claim' },
    {
      name: 'retained',
      count: dimensions,
      meaning: `mean of the embeddings of the ${retained} retained so far, or zero`,
    },
    { name: 'explanation', count: dimensions, meaning: "embedding of the task model's explanation of its label" },
    {
      name: 'distribution',
      count: config.showDistribution ? classes.length : 0,
      meaning: 'the class distribution of the task model',
    },
  ];
  let from = 0;
  const placed = fields.map((field) => {
    const own = { ...field, from };
    from += field.count;
    return own;
  });
  return {
    onnx: onnxFileOf(level),
    columns: policies[level].features,
    fields: placed.filter(({ count }) => count > 0),
    classes,
  };
}
