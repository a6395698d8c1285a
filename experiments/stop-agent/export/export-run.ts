import { readFileSync } from 'node:fs';
import { goldenRefusals } from '../../../checkpoints/bundle/golden-refusals.ts';
import { bundleFiles, bundleFormat, bundleFormatVersion, type Manifest } from '../../../checkpoints/bundle/manifest.ts';
import { policyNetwork, projectedStates, widthOf } from '../../../checkpoints/bundle/network.ts';
import { onnxModel } from '../../../checkpoints/bundle/onnx-model.ts';
import { checkParity, type Parity } from '../../../checkpoints/bundle/parity.ts';
import { loadPolicy } from '../../../checkpoints/bundle/policy.ts';
import { policyCard } from '../../../checkpoints/bundle/policy-card.ts';
import { extremeStates, randomStates } from '../../../checkpoints/bundle/probe-states.ts';
import { stopRule } from '../../../checkpoints/bundle/promise.ts';
import { bundleContents, checkFree, weightsFile, writeBundle } from '../../../checkpoints/bundle/write-bundle.ts';
import { provenance } from '../../../checkpoints/run-record.ts';
import type { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { characterTable } from '../../../src/text/character-table.ts';
import type { WorkContext } from '../../../src/work-context.ts';
import { stopProbabilitiesOfStates } from '../../../trainers/stop-agent/policy.ts';
import { studentOfRun } from '../cache.ts';
import { trainedClaimsFile } from '../claim-region.ts';
import { scoresJson } from '../metrics.ts';
import { type OpenedRun, openStopAgentRun } from '../open-run.ts';
import { testedThreads, testThreadsOfRun, trainedThreads } from '../parts.ts';
import { promiseFile } from '../promise-file.ts';
import { systemsTable } from '../report/systems-table.ts';
import { readTrialResult, type TrialResult } from '../result.ts';
import { goldenThreads, readsTimes } from './golden-threads.ts';
import { stateDefinition } from './state-definition.ts';

export interface ExportedBundle {
  readonly parity: Parity;
  readonly goldenThreads: number;
  /** Whether Python and JavaScript can decide from texts with the bundle alone. */
  readonly readsTexts: boolean;
}

/**
 * Writes a run's agent as a bundle that other programs load. Nothing is written unless the ONNX file decides as the
 * checkpoint does.
 * @param options.data where the run's data is now; null for the place that its configuration names
 * @param options.runs folder with the shared cache
 * @throws InputError when the run, its test threads or the folder cannot be used; Error that says where the ONNX file and
 *   the checkpoint differ
 */
export async function exportRun(options: {
  run: string;
  out: string;
  data: string | null;
  runs: string;
  context: WorkContext;
}): Promise<ExportedBundle> {
  const { out, data, context } = options;
  checkFree(out);
  const opened = await openStopAgentRun(options);
  const { run, experiment, policy, seed, step } = opened;
  const network = policyNetwork(policy, opened.projection);
  const scoreStates = (states: Float32Array) =>
    stopProbabilitiesOfStates(policy, { data: projectedStates(network, states), columns: widthOf(network) });
  const golden = await goldenThreads(opened, {
    tested: await testThreadsOfRun(run, { data, context }),
    scoreStates,
  });
  const probes = { golden: golden.states, random: randomStates(network), extreme: extremeStates(network) };
  const named = await Promise.all(
    Object.entries(probes).map(async ([name, states]) => ({
      name,
      states,
      columns: network.inputs,
      expected: await scoreStates(states),
    })),
  );
  const onnx = onnxModel(network);
  const parity = await checkParity(onnx, named);

  const result = run.isFinished() ? readTrialResult(run, { withIntervals: true }) : null;
  const models = await modelFiles(opened);
  const characters = characterTable();
  const { earshot, git } = provenance();
  const promise = promiseFile.find(run);
  const encoder = experiment.state.posts === 'none' ? null : opened.cache.embeddings.encoderIdentity;
  const readsTexts =
    (encoder === null || encoder.name === 'hashing') && (!experiment.state.student || models.student !== null);
  const manifest: Omit<Manifest, 'sha256' | 'files'> = {
    format: bundleFormat,
    formatVersion: bundleFormatVersion,
    madeBy: { earshot, commit: git?.commit ?? null, unicode: characters.unicode },
    task: { name: opened.task.name, labels: [...opened.task.labels] },
    encoder,
    state: stateDefinition(opened),
    rule: stopRule(promise),
    promise,
    trainedClaims: trainedClaimsFile.find(run),
    student: models.student === null ? null : bundleFiles.student,
    detector: models.detector === null ? null : bundleFiles.detector,
    readsTexts,
    training: { seed, step, experiment, hashes: run.readRecord().hashes },
    measures: result === null ? null : measuresOf(result),
    parity: { ...parity, batches: [...parity.batches] },
  };
  const card = policyCard(manifest, {
    data: dataInWords(opened),
    threads: result?.threads ?? {},
    table: result === null ? null : systemsTable(result.systems),
    readsTimes: readsTimes(experiment),
  });
  const contents = await bundleContents({
    manifest,
    files: {
      [bundleFiles.onnx]: onnx,
      [bundleFiles.weights]: weightsFile(network),
      [bundleFiles.golden]: golden.lines,
      [bundleFiles.characters]: `${JSON.stringify(characters)}\n`,
      [bundleFiles.trained]: `${JSON.stringify([...trainedThreads(run)].sort())}\n`,
      [bundleFiles.tested]: `${JSON.stringify([...testedThreads(run)].sort())}\n`,
      [bundleFiles.refusals]: goldenRefusals(),
      [bundleFiles.python]: readFileSync(pythonReader),
      [bundleFiles.card]: card,
      ...(models.student !== null && { [bundleFiles.student]: models.student }),
      ...(models.detector !== null && { [bundleFiles.detector]: models.detector }),
    },
  });
  // The reader in JavaScript decides the golden threads again; the one in Python does so when it loads.
  await loadPolicy({
    read: async (name) => contents.get(name) ?? new Uint8Array(0),
    embed: encoder?.name === 'hashing' ? undefined : (texts) => opened.cache.embeddings.embed(texts),
  });
  writeBundle(out, contents);
  return { parity, goldenThreads: golden.count, readsTexts };
}

const pythonReader = new URL('../../../checkpoints/bundle/earshot_policy.py', import.meta.url);

/** Student and detector, as far as other programs can run them: local ones without an encoder. */
async function modelFiles(opened: OpenedRun): Promise<{ student: string | null; detector: string | null }> {
  const fileOf = (own: LocalDetector | null) =>
    own === null || own.model.encoder !== null ? null : `${JSON.stringify(own.model, null, 1)}\n`;
  return {
    student: fileOf(await studentOfRun(opened.run.path, opened)),
    detector: fileOf(await opened.detector()),
  };
}

function measuresOf({ systems }: TrialResult): Manifest['measures'] {
  return { threads: systems[0].threads, systems: systems.map((system) => ({ ...scoresJson(system) })) };
}

function dataInWords({ experiment }: OpenedRun): string {
  const { threads } = experiment.data;
  return threads === null
    ? 'Synthetic threads of Earshot: made up, not from any platform'
    : `The thread file \`${threads}\``;
}
