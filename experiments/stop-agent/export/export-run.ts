import { readFileSync } from 'node:fs';
import { goldenRefusalLines } from '../../../checkpoints/policy/golden-refusals.ts';
import { stopRuleInWords } from '../../../checkpoints/policy/guarantee.ts';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import { bundleFiles, bundleFormat, bundleFormatVersion, type Manifest } from '../../../checkpoints/policy/manifest.ts';
import type { PolicyNetwork } from '../../../checkpoints/policy/network.ts';
import { onnxModel } from '../../../checkpoints/policy/onnx-model.ts';
import { checkParity, type Parity } from '../../../checkpoints/policy/parity.ts';
import type { PolicyDefinition } from '../../../checkpoints/policy/policy.ts';
import { policyCard } from '../../../checkpoints/policy/policy-card.ts';
import { extremeStates, randomStates } from '../../../checkpoints/policy/probe-states.ts';
import { columnsOf, type FieldName, type StateField } from '../../../checkpoints/policy/state-fields.ts';
import { bundleContents, checkFree, weightsFile, writeBundle } from '../../../checkpoints/policy/write-bundle.ts';
import { provenance } from '../../../checkpoints/run-record.ts';
import type { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { characterTable } from '../../../src/text/character-table.ts';
import type { WorkContext } from '../../../src/work-context.ts';
import { actionTexts } from '../../../trainers/stop-agent/states.ts';
import { tableText } from '../../report/report.ts';
import { trainedClaimsFile } from '../claim-region.ts';
import { scoresJson } from '../metrics.ts';
import { networkOfSystem, systemNamed, systemOfRun } from '../open-policy.ts';
import { type OpenedRun, openStopAgentRun } from '../open-run.ts';
import { guaranteesFile } from '../operating-point.ts';
import { testedThreads, testThreadsOfRun, trainedThreads } from '../parts.ts';
import { decidedBy } from '../policy-settings.ts';
import { evaluationTable } from '../report/systems-table.ts';
import { readTrialResult, type TrialResult } from '../result.ts';
import { goldenThreads } from './golden-threads.ts';

export interface ExportedBundle {
  /** The row of the report that it is. */
  readonly system: string;
  readonly parity: Parity;
  readonly goldenThreads: number;
  /** Whether Python and JavaScript can decide from texts with the bundle alone. */
  readonly readsTexts: boolean;
}

/**
 * Writes a policy of a run as a bundle that other programs load. Nothing is written unless the ONNX file scores as the run does.
 * @param options.system the row of the report, or `best` for the one that is recommended; the agent unless given
 * @param options.data where the run's data is now; null for the place that its configuration names
 * @param options.runs folder with the shared cache
 * @param options.force writes over an earlier bundle
 * @throws InputError when the run, its test threads or the folder cannot be used; Error that says where the ONNX file and
 *   the run differ
 */
export async function exportRun(options: {
  run: string;
  out: string;
  system?: string;
  data: string | null;
  runs: string;
  force?: boolean;
  context: WorkContext;
}): Promise<ExportedBundle> {
  const { out, data, context, force = false } = options;
  checkFree(out, { force });
  const opened = await openStopAgentRun(options);
  const { run, evaluated, experiment, materials } = opened;
  const { cache, projection } = materials;
  const system = systemNamed(options.system, opened);
  const policy = await systemOfRun(opened, system);
  const network = networkOfSystem(opened, system, columnsOf(policy.fields));
  const golden = await goldenThreads(opened, { policy, tested: await testThreadsOfRun(evaluated, { data, context }) });
  const onnx = onnxModel(network);
  const parity = await parityOf(onnx, { policy, network, golden: golden.states });
  const characters = characterTable();
  const models = await modelFiles(opened, policy);
  const result = evaluated.isFinished() ? readTrialResult(evaluated, { withIntervals: true }) : null;
  const { unicode } = characters;
  const manifest = manifestOf(opened, { system, policy, network, models, parity, unicode, result });
  const { encoder, readsTexts, limits } = manifest;
  const card = policyCard(manifest, {
    data: dataInWords(opened),
    threads: result === null ? {} : usedThreads(result),
    measuredOn:
      result?.isCrossFitted === true
        ? 'Cross-validated over the labelled threads, each decided by a fold that has not seen it'
        : 'On the test threads of the run',
    table: result === null ? null : tableText(evaluationTable(result.systems)),
    readsTimes: readsTimes(experiment) || limits.deadline.hours !== null,
  });
  const contents = await bundleContents({
    manifest,
    files: {
      [bundleFiles.onnx]: onnx,
      [bundleFiles.golden]: golden.lines,
      [bundleFiles.characters]: `${JSON.stringify(characters)}\n`,
      [bundleFiles.trained]: `${JSON.stringify([...trainedThreads(run)].sort())}\n`,
      [bundleFiles.tested]: `${JSON.stringify([...testedThreads(run)].sort())}\n`,
      [bundleFiles.refusals]: goldenRefusalLines.map((golden) => `${JSON.stringify(golden)}\n`).join(''),
      [bundleFiles.python]: readFileSync(pythonReader),
      [bundleFiles.card]: card,
      ...(network !== null && { [bundleFiles.weights]: weightsFile(network, encoder === null ? null : projection) }),
      ...(models.student !== null && { [bundleFiles.student]: models.student }),
      ...(models.detector !== null && { [bundleFiles.detector]: models.detector }),
    },
  });
  // The reader in JavaScript decides the golden threads again; the one in Python does so when it loads.
  await loadPolicy({
    read: async (name) => contents.get(name) ?? new Uint8Array(0),
    embed: encoder === null || encoder.name === 'hashing' ? undefined : (texts) => cache.embeddings.embed(texts),
  });
  writeBundle(out, contents, { force });
  return { system, parity, goldenThreads: golden.count, readsTexts };
}

/** Holds the ONNX file against the policy on golden, random and extreme states. */
function parityOf(
  onnx: Uint8Array,
  { policy, network, golden }: { policy: PolicyDefinition; network: PolicyNetwork | null; golden: Float32Array },
): Promise<Parity> {
  const random = network === null ? {} : { random: randomStates(network), extreme: extremeStates(network) };
  const columns = columnsOf(policy.fields);
  return checkParity(
    onnx,
    Object.entries({ golden, ...random }).map(([name, states]) => {
      return { name, states, columns, expected: policy.score(states) };
    }),
  );
}

/** What a bundle is made of. */
interface BundleParts {
  readonly system: string;
  readonly policy: PolicyDefinition;
  readonly network: PolicyNetwork | null;
  readonly models: BundledModels;
  readonly parity: Parity;
  /** The version that the table of characters is of. */
  readonly unicode: string;
  readonly result: TrialResult | null;
}

function manifestOf(opened: OpenedRun, parts: BundleParts): Omit<Manifest, 'sha256' | 'files'> {
  const { run, experiment, materials, seed, step, task } = opened;
  const { cache, projection } = materials;
  const { system, policy, network, models, parity, unicode, result } = parts;
  const { threshold, limits, queries } = policy;
  const { earshot, git } = provenance();
  const guarantee = guaranteesFile.find(run)?.[system] ?? null;
  const encoder = reads(policy, 'posts') ? cache.embeddings.encoderIdentity : null;
  return {
    format: bundleFormat,
    formatVersion: bundleFormatVersion,
    madeBy: { earshot, commit: git?.commit ?? null, unicode },
    system,
    task: decidedBy(task),
    encoder,
    state: {
      columns: columnsOf(policy.fields),
      fields: placedFields(policy.fields),
      pooling: experiment.state.posts === 'none' ? 'sum' : experiment.state.posts,
      isProjected: projection !== null && encoder !== null,
      previousActions: { continue: actionTexts[0], stop: actionTexts[1] },
    },
    queries: { ...queries, lengths: [...queries.lengths] },
    threshold,
    limits,
    rule: stopRuleInWords({ threshold: guarantee?.threshold ?? threshold, limits, alerts: task.alerts }),
    guarantee,
    trainedClaims: trainedClaimsFile.find(run),
    weights: network === null ? null : bundleFiles.weights,
    student: models.student === null ? null : bundleFiles.student,
    detector: models.detector === null ? null : bundleFiles.detector,
    readsTexts: (encoder === null || encoder.name === 'hashing') && (!readsStudent(policy) || models.student !== null),
    training: { seed, step, experiment, hashes: run.readRecord().hashes },
    measures: result === null ? null : measuresOf(result),
    parity: { ...parity, batches: [...parity.batches] },
  };
}

function reads({ fields }: PolicyDefinition, name: FieldName): boolean {
  return fields.some((field) => field.name === name);
}

function readsStudent(policy: PolicyDefinition): boolean {
  return reads(policy, 'student') || reads(policy, 'student confidence');
}

function placedFields(fields: readonly StateField[]): Manifest['state']['fields'] {
  let from = 0;
  return fields.map(({ name, count, meaning }) => {
    from += count;
    return { name, from: from - count, count, meaning };
  });
}

/** Whether the detector or the student reads the times of posts. */
function readsTimes({ detector, state }: OpenedRun['experiment']): boolean {
  return (!('file' in detector) && detector.timing === true) || (state.student && state.studentOptions.timing === true);
}

const pythonReader = new URL('../../../checkpoints/policy/earshot_policy.py', import.meta.url);

/** Student and detector, as far as other programs can run them: local ones without an encoder. */
interface BundledModels {
  readonly student: string | null;
  readonly detector: string | null;
}

async function modelFiles(opened: OpenedRun, policy: PolicyDefinition): Promise<BundledModels> {
  const fileOf = (model: LocalDetector | null) =>
    model === null || model.model.encoder !== null ? null : `${JSON.stringify(model.model, null, 1)}\n`;
  return {
    student: readsStudent(policy) ? fileOf(opened.materials.student?.reader ?? null) : null,
    detector: fileOf(await opened.detector()),
  };
}

function measuresOf({ systems }: TrialResult): Manifest['measures'] {
  return { threads: systems[0].threads, systems: systems.map((system) => ({ ...scoresJson(system) })) };
}

/** How many threads were used for what. */
function usedThreads({ threads, isCrossFitted }: TrialResult): Readonly<Record<string, number>> {
  const { test, ...others } = threads;
  return isCrossFitted ? { labelled: test, ...others } : threads;
}

function dataInWords({ experiment }: OpenedRun): string {
  const { threads } = experiment.data;
  return threads === null
    ? 'Synthetic threads of Earshot: made up, not from any platform'
    : `The thread file \`${threads}\``;
}
