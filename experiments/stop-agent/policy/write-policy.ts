import { readFileSync } from 'node:fs';
import { type Golden, isTied } from '../../../checkpoints/policy/golden.ts';
import { goldenRefusalLines } from '../../../checkpoints/policy/golden-inputs.ts';
import { stopRuleInWords } from '../../../checkpoints/policy/guarantee.ts';
import { bundleFiles, bundleFormat, bundleFormatVersion, type Manifest } from '../../../checkpoints/policy/manifest.ts';
import type { PolicyNetwork } from '../../../checkpoints/policy/network.ts';
import { onnxModel } from '../../../checkpoints/policy/onnx-model.ts';
import { checkParity, extremeStates, joinedStates, randomStates } from '../../../checkpoints/policy/parity.ts';
import type { PolicyDefinition } from '../../../checkpoints/policy/policy.ts';
import { policyCard } from '../../../checkpoints/policy/policy-card.ts';
import { policyStates, replay } from '../../../checkpoints/policy/replay.ts';
import { columnsOf, readsField } from '../../../checkpoints/policy/state-fields.ts';
import { bundleContents, weightsFile } from '../../../checkpoints/policy/write-bundle.ts';
import { provenance } from '../../../checkpoints/run-record.ts';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { characterTable } from '../../../src/text/character-table.ts';
import { actionTexts } from '../../../trainers/stop-agent/states.ts';
import { tableText } from '../../report/table.ts';
import { type Experiment, taskOf } from '../experiment.ts';
import { scoresJson } from '../metrics.ts';
import { decidedBy } from '../policy-settings.ts';
import { evaluationTable } from '../report/systems-table.ts';
import { isCrossFitted, type TrialResult } from '../result.ts';
import type { ReadThread } from '../scored-thread.ts';

/** A detector or a student as a bundle keeps it. */
export interface BundledModel {
  /** The JSON of the model. */
  readonly text: string;
  /** Whether other programs can run it: it has no encoder. */
  readonly isSelfContained: boolean;
}

/** A policy and all that its bundle says of it. */
export interface TrainedPolicy {
  /** The row of the report that it is. */
  readonly system: string;
  readonly definition: PolicyDefinition;
  /** Null for a rule, whose state is its score. */
  readonly network: PolicyNetwork | null;
  /** The identity of the encoder of posts; null where the policy sees none. */
  readonly encoder: Manifest['encoder'];
  /** Null where it is language models or a service. */
  readonly detector: BundledModel | null;
  readonly student: BundledModel | null;
  readonly guarantee: Manifest['guarantee'];
  readonly trainedClaims: Manifest['trainedClaims'];
  readonly experiment: Experiment;
  readonly training: Omit<Manifest['training'], 'experiment'>;
  /** Identities of the threads that it learnt from, and of those that it was tested or calibrated on. */
  readonly identities: { readonly trained: Iterable<string>; readonly tested: Iterable<string> };
  /** Threads that every reader of the bundle decides again. */
  readonly golden: readonly ReadThread[];
  /** The scores of the run that tested it. */
  readonly result: TrialResult;
}

/**
 * The files of a policy's bundle, by their names.
 * @throws Error that says where the ONNX file and the policy differ
 */
export async function bundleOf(policy: TrainedPolicy): Promise<ReadonlyMap<string, Uint8Array>> {
  const { definition, network, experiment, identities, result } = policy;
  const onnx = onnxModel(network);
  const golden = goldenLines(policy.golden, definition);
  const parity = await parityOf(onnx, { definition, network, golden: golden.states });
  const characters = characterTable();
  const manifest = { ...manifestOf(policy, characters.unicode), parity: { ...parity, batches: [...parity.batches] } };
  const card = policyCard(manifest, {
    data: dataInWords(experiment),
    threads: usedThreads(result),
    measuredOn: isCrossFitted(result)
      ? 'Cross-validated over the labelled threads, each decided by a fold that has not seen it'
      : `On the ${result.part} threads of the run`,
    table: tableText(evaluationTable(result.systems)),
    readsTimes: readsTimes(experiment) || definition.limits.deadline.hours !== null,
  });
  const { detector } = policy;
  const student = readsStudent(definition) ? policy.student : null;
  const json = (value: unknown) => `${JSON.stringify(value)}\n`;
  return bundleContents({
    manifest,
    files: {
      [bundleFiles.onnx]: onnx,
      [bundleFiles.golden]: golden.lines,
      [bundleFiles.characters]: json(characters),
      [bundleFiles.trained]: json([...identities.trained].sort()),
      [bundleFiles.tested]: json([...identities.tested].sort()),
      [bundleFiles.refusals]: goldenRefusalLines.map(json).join(''),
      [bundleFiles.python]: readFileSync(pythonReader),
      [bundleFiles.card]: card,
      ...(network !== null && { [bundleFiles.weights]: weightsFile(network) }),
      ...(student !== null && { [bundleFiles.student]: student.text }),
      ...(detector !== null && { [bundleFiles.detector]: detector.text }),
    },
  });
}

const pythonReader = new URL('../../../checkpoints/policy/earshot_policy.py', import.meta.url);

/** Decisions of a policy about threads, one per line, with all their states. Ties are left out. */
function goldenLines(
  threads: readonly ReadThread[],
  definition: PolicyDefinition,
): { lines: string; states: Float32Array } {
  const { labels } = definition.task;
  const lines: string[] = [];
  const all: Float32Array[] = [];
  for (const { thread, inputs } of threads) {
    const { stop, scores, queries } = replay(definition, inputs);
    if (isTied(scores, definition)) continue;
    const states = policyStates(definition, inputs);
    const golden: Golden = {
      threadId: thread.id,
      texts: thread.posts.map(({ text }) => text),
      times: thread.posts.map(({ time }) => time),
      states: floatsToBase64(states),
      scores: [...scores],
      postsUsed: stop.postsUsed,
      why: stop.why,
      queries,
      judgements: inputs.flatMap(({ judgement }, index) => {
        if (judgement === null) return [];
        const { label, probabilities } = judgement;
        const row = probabilities === null ? null : Array.from(probabilities);
        return [{ posts: index + 1, label: labels[label] ?? null, probabilities: row }];
      }),
    };
    lines.push(`${JSON.stringify(golden)}\n`);
    all.push(states);
  }
  return { lines: lines.join(''), states: joinedStates(all) };
}

/** Holds the ONNX file against the policy on golden, random and extreme states. */
function parityOf(
  onnx: Uint8Array,
  { definition, network, golden }: Pick<TrainedPolicy, 'definition' | 'network'> & { golden: Float32Array },
) {
  const random = network === null ? {} : { random: randomStates(network), extreme: extremeStates(network) };
  const columns = columnsOf(definition.fields);
  const probes = Object.entries({ golden, ...random }).map(([name, states]) => {
    return { name, states, columns, expected: definition.score(states) };
  });
  return checkParity(onnx, probes);
}

/** @param unicode the version that the table of characters is of */
function manifestOf(policy: TrainedPolicy, unicode: string): Omit<Manifest, 'sha256' | 'files' | 'parity'> {
  const { system, definition, network, encoder, detector, guarantee, trainedClaims, experiment, training } = policy;
  const { threshold, limits, queries } = definition;
  const { earshot, git } = provenance();
  const task = taskOf(experiment);
  const student = readsStudent(definition) ? policy.student : null;
  const fileOf = (name: 'detector' | 'student', model: BundledModel | null) =>
    model?.isSelfContained === true ? bundleFiles[name] : null;
  return {
    format: bundleFormat,
    formatVersion: bundleFormatVersion,
    madeBy: { earshot, commit: git?.commit ?? null, unicode },
    system,
    task: decidedBy(task),
    encoder,
    state: {
      columns: columnsOf(definition.fields),
      fields: placedFields(definition),
      pooling: experiment.state.posts === 'none' ? 'sum' : experiment.state.posts,
      previousActions: { continue: actionTexts[0], stop: actionTexts[1] },
    },
    queries: { ...queries, lengths: [...queries.lengths] },
    threshold,
    limits,
    rule: stopRuleInWords({ threshold: guarantee?.threshold ?? threshold, limits, alerts: task.alerts }),
    guarantee,
    trainedClaims,
    weights: network === null ? null : bundleFiles.weights,
    student: fileOf('student', student),
    detector: fileOf('detector', detector),
    readsTexts:
      (encoder === null || encoder.name === 'hashing') &&
      (!readsStudent(definition) || student?.isSelfContained === true),
    training: { ...training, experiment },
    measures: measuresOf(policy.result),
  };
}

function readsStudent({ fields }: PolicyDefinition): boolean {
  return readsField(fields, 'student') || readsField(fields, 'student confidence');
}

function placedFields({ fields }: PolicyDefinition): Manifest['state']['fields'] {
  let from = 0;
  return fields.map(({ name, count, meaning }) => {
    from += count;
    return { name, from: from - count, count, meaning };
  });
}

/** Whether the detector or the student reads the times of posts. */
function readsTimes({ detector, state }: Experiment): boolean {
  return (!('file' in detector) && detector.timing === true) || (state.student && state.studentOptions.timing === true);
}

function measuresOf({ systems }: TrialResult): Manifest['measures'] {
  return { threads: systems[0].threads, systems: systems.map((system) => ({ ...scoresJson(system) })) };
}

/** How many threads were used for what. */
function usedThreads(result: TrialResult): Readonly<Record<string, number>> {
  const { test, ...others } = result.threads;
  return isCrossFitted(result) ? { labelled: test, ...others } : result.threads;
}

function dataInWords({ data: { threads } }: Experiment): string {
  return threads === null
    ? 'Synthetic threads of Earshot: made up, not from any platform'
    : `The thread file \`${threads}\``;
}
