import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closest } from 'fastest-levenshtein';
import { type Golden, goldenSchema } from '../../../checkpoints/policy/golden.ts';
import {
  bundleFiles,
  type Manifest,
  parseBundleJson,
  policyDigest,
  readManifest,
} from '../../../checkpoints/policy/manifest.ts';
import { readWeights, stopProbabilitiesOf } from '../../../checkpoints/policy/network.ts';
import { checkParity, joinedStates } from '../../../checkpoints/policy/parity.ts';
import { wholePost } from '../../../checkpoints/policy/policy-post.ts';
import { columnsOf, readsField } from '../../../checkpoints/policy/state-fields.ts';
import { checkFree, writeBundle } from '../../../checkpoints/policy/write-bundle.ts';
import type { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { type JudgementSequence, judgementSequence } from '../../../experts/judgement-sequence.ts';
import { floatsFromBase64 } from '../../../src/base64-floats.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError, onDisk } from '../../../src/errors.ts';
import { openAgentRun } from '../../run/kind-of-run.ts';
import { agentName, cloningFile, cloningName, rulesOf } from '../decisions.ts';
import { type Experiment, experimentSchema } from '../experiment.ts';
import { testedGuarantee } from '../operating-point.ts';
import { halfway, rulePolicy } from '../policy-settings.ts';
import { isCandidate, recommended } from '../recommendation.ts';
import { detectorProblem } from '../report/detector-truth.ts';
import { readTrialResult } from '../result.ts';
import { type ReadThread, readWhole } from '../scored-thread.ts';
import { type OpenedPolicy, openPolicy } from './policy-folder.ts';
import { type BundledModel, bundleOf, type TrainedPolicy } from './write-policy.ts';

export interface ExportedPolicy {
  /** The row of the report that it is. */
  readonly system: string;
  readonly parity: Manifest['parity'];
  readonly goldenThreads: number;
  /** Whether Python and JavaScript can decide from texts with the bundle alone. */
  readonly readsTexts: boolean;
}

/**
 * Writes a policy of a run to another folder: that of its agent as it is, or another row of its report. The golden threads are decided
 * again, and the ONNX file is run on them.
 * @param options.run a run with its policy; for the agent, a bundle will do
 * @param options.system the row of the report, or `best` for the one that is recommended; the agent unless given
 * @param options.force writes over an earlier bundle
 * @param options.keepsSame leaves an earlier bundle of this very policy as it is, with the guarantee that it was given since
 * @throws InputError for a run without a policy or without that system, and for a folder that cannot be used; Error that says where the
 *   ONNX file and the policy differ
 */
export async function exportPolicy(options: {
  run: string;
  out: string;
  system?: string | undefined;
  force?: boolean;
  keepsSame?: boolean;
}): Promise<ExportedPolicy> {
  const { run, out, force = false, keepsSame = false } = options;
  checkFree(out, { force });
  const agent = await openPolicy(run);
  const system = options.system === 'best' ? recommendedSystem(run) : (options.system ?? agent.manifest.system);
  const contents =
    system === agent.manifest.system ? filesOf(agent.folder) : await bundleOfSystem(system, { run, agent });
  if (!keepsSame || !(await isPolicyOf(out, contents))) writeBundle(out, contents, { force });
  const policy = await openPolicy(out);
  await checkOnnx(out, policy);
  const { parity, readsTexts } = policy.manifest;
  return { system, parity, goldenThreads: goldenIn(out).length, readsTexts };
}

/** Whether a folder holds the policy with these files, whatever its guarantee is. */
async function isPolicyOf(folder: string, contents: ReadonlyMap<string, Uint8Array>): Promise<boolean> {
  const digestOf = async (bytes: Uint8Array | undefined) =>
    policyDigest(await readManifest(new TextDecoder().decode(bytes)));
  try {
    const present = await digestOf(readFileSync(join(folder, bundleFiles.manifest)));
    return present === (await digestOf(contents.get(bundleFiles.manifest)));
  } catch {
    // None is there, or one that this version does not read.
    return false;
  }
}

/** The system that the report of a run recommends. @throws InputError where it recommends none */
function recommendedSystem(path: string): string {
  const run = openAgentRun(path);
  const { ranking, detector } = readTrialResult(run, { withIntervals: false });
  const problem = detector === null ? null : detectorProblem([detector]);
  if (problem !== null)
    throw new InputError(
      `${path} recommends nothing. ${problem}. Label more threads, or name a system, such as --system ${JSON.stringify(agentName)}`,
    );
  // No rule carries a guarantee, so none is recommended in the place of an agent that does.
  if (testedGuarantee(run) !== null) return agentName;
  const candidates = ranking.decisions.filter(isCandidate).map((system) => ({ name: system.name, seeds: [system] }));
  return recommended(candidates, ranking).system.name;
}

/** The bundle of another row of a run's report: it shares everything with that of the agent but what decides. */
async function bundleOfSystem(
  system: string,
  { run: path, agent }: { run: string; agent: OpenedPolicy },
): Promise<ReadonlyMap<string, Uint8Array>> {
  const run = openAgentRun(path);
  const { manifest, folder, sources, hasDetector } = agent;
  const { experiment: settings, ...training } = manifest.training;
  const experiment = experimentSchema.parse(settings);
  const result = readTrialResult(run, { withIntervals: true });
  const { definition, network } = systemNamed(system, { run, agent, experiment });
  const lines = goldenIn(folder);
  const judged = new Map(lines.map((line) => [line.threadId, judgedIn(line, manifest.task)]));
  const golden: ReadThread[] = [];
  const policy = { definition, sources };
  for await (const thread of readWhole(lines.map(threadOf), { policy, ...(!hasDetector && { sequences: judged }) }))
    golden.push(thread);
  const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');
  const modelOf = (name: 'detector' | 'student'): BundledModel | null => {
    const file = bundleFiles[name];
    return manifest.files[file] === undefined ? null : { text: textOf(file), isSelfContained: manifest[name] !== null };
  };
  const hasPosts = readsField(definition.fields, 'posts');
  return bundleOf({
    system,
    definition,
    network,
    encoder: hasPosts ? manifest.encoder : null,
    detector: modelOf('detector'),
    student: modelOf('student'),
    guarantee: null,
    trainedClaims: manifest.trainedClaims,
    experiment,
    training,
    identities: agent,
    golden,
    result,
  });
}

/** @throws InputError for a name that is no system of the run which can be deployed */
function systemNamed(
  system: string,
  { run, agent, experiment }: { run: RunDirectory; agent: OpenedPolicy; experiment: Experiment },
): Pick<TrainedPolicy, 'definition' | 'network'> {
  const rules = rulesOf(experiment);
  const rule = rules.find(({ name }) => name === system);
  if (rule !== undefined) return { definition: rulePolicy(rule, experiment), network: null };
  const cloning = join(run.path, cloningFile);
  if (system === cloningName && existsSync(cloning)) {
    const network = readWeights(readFileSync(cloning), agent.manifest.state);
    const score = (states: Float32Array) => stopProbabilitiesOf(network, states);
    return { definition: { ...agent.definition, threshold: halfway, score }, network };
  }
  const names = [agentName, ...rules.map(({ name }) => name)];
  throw new InputError(
    `${run.path} has no system ${JSON.stringify(system)} that can be deployed; did you mean ${JSON.stringify(closest(system, names))}? \`earshot report ${run.path}\` lists them`,
  );
}

/** Holds the ONNX file of a bundle against its policy on the golden states. */
async function checkOnnx(folder: string, { definition }: Pick<OpenedPolicy, 'definition'>): Promise<void> {
  const states = joinedStates(goldenIn(folder).map((line) => floatsFromBase64(line.states)));
  const onnx = readFileSync(join(folder, bundleFiles.onnx));
  const columns = columnsOf(definition.fields);
  await checkParity(onnx, [{ name: 'golden', states, columns, expected: definition.score(states) }]);
}

function filesOf(folder: string): ReadonlyMap<string, Uint8Array> {
  const names = onDisk(`read the bundle ${folder}`, () => readdirSync(folder));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
}

function goldenIn(folder: string): Golden[] {
  const name = bundleFiles.golden;
  const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => parseBundleJson(line, { name, schema: goldenSchema }));
}

function threadOf({ threadId, texts, times }: Golden): Thread {
  const [claim, ...replies] = texts.map((text, index) => wholePost({ text, time: times[index] }, index));
  return { id: threadId, event: null, veracity: null, rumor: null, posts: [claim, ...replies] };
}

/** Recorded judgements of a golden thread, for a policy whose detector is not at hand. */
function judgedIn({ threadId, judgements }: Golden, { labels }: Manifest['task']): JudgementSequence {
  const outputs = judgements.map(({ label, probabilities }) => ({
    label,
    probabilities: probabilities && Object.fromEntries(labels.map((name, index) => [name, probabilities[index]])),
  }));
  return judgementSequence({ threadId, labels, judgements: outputs });
}
