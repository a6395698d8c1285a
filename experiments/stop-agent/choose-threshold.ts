import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import type { Task } from '../../src/data/task.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { valuesOf } from '../run/metric.ts';
import { GuaranteeNotShown, guaranteeFor, guaranteeOnAverage, keptOnAverage, thresholds } from './calibrate.ts';
import { agentName, countingScores, type Decision, decide, stopByScores, type TestThread } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { stopColumns } from './metrics.ts';
import { guaranteeFile, keepThreshold, unshownGuaranteeFile } from './operating-point.ts';
import { agentQueries, halfway, limitsOf } from './policy-settings.ts';
import type { PreparedTrial } from './prepare.ts';
import { worth } from './recommendation.ts';
import { type ScoredThread, scoredThread } from './scored-thread.ts';
import { decideByPolicies, learntPolicy, type StateMaterials, seenPosts } from './states.ts';

interface Trained {
  readonly prepared: PreparedTrial;
  readonly experiment: Experiment;
  readonly run: RunDirectory;
  /** Of the demonstration threads, by agents that have not seen them, by thread id; the agent's own unless given. */
  readonly heldOutScores?: ReadonlyMap<string, readonly number[]>;
}

/**
 * Chooses and keeps where a trained agent stops: by a guarantee where one is wanted and can be shown; a settled agent otherwise where it
 * is worth most on threads that were set aside for it, or judged by cross-fitting; any other where stopping is likelier than not.
 */
export async function chooseThreshold(agent: StopPolicy, trained: Trained): Promise<void> {
  const { experiment, prepared, run } = trained;
  const { guarantee, crossFitting } = experiment;
  const { calibration, development, demonstrations } = prepared.parts;
  const calibrates = calibration.length > 0 ? keepGuarantee : crossFitting === null ? null : keepAverage;
  if (guarantee !== null && calibrates !== null)
    try {
      return await calibrates(agent, { ...trained, guarantee });
    } catch (error) {
      // A training is worth its report without a guarantee, too.
      if (!(error instanceof GuaranteeNotShown)) throw error;
      unshownGuaranteeFile.write(run, { reason: error.message, remedy: error.remedy });
    }
  if (experiment.agent.algorithm !== 'settled') return;
  const judged = (crossFitting === null ? development : demonstrations).filter(isFairTest);
  if (judged.length > 0) await keepBest(agent, judged, trained);
}

type GuaranteeOptions = NonNullable<Experiment['guarantee']>;

const remediesOf = ({ crossFitting }: Experiment) => ({
  threads: crossFitting === null ? 'Raise split.calibration' : 'Give more threads without labels',
  level: 'guarantee.level:',
});

/** Finds the guarantee on the calibration part, and stops by it. @throws GuaranteeNotShown */
async function keepGuarantee(
  agent: StopPolicy,
  { prepared, experiment, run, guarantee: options }: Trained & { guarantee: GuaranteeOptions },
): Promise<void> {
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const scored = await scoredThreads(parts.calibration, { ...materials, definition, sequences });
  const { limits, task } = definition;
  const target = { ...options, limits, alerts: task.alerts, remedies: remediesOf(experiment) };
  const guarantee = await guaranteeFor(
    scored.map((thread) => ({ ...thread, gold: null })),
    target,
  );
  guaranteeFile.write(run, guarantee);
  keepThreshold(run, guarantee);
}

/** Finds the guarantee on the labelled threads, whose judgements are those of detectors that have not seen them. @throws GuaranteeNotShown */
async function keepAverage(
  agent: StopPolicy,
  { prepared, run, heldOutScores, guarantee: options }: Trained & { guarantee: GuaranteeOptions },
): Promise<void> {
  if (options.loss !== 'disagreement')
    throw new GuaranteeNotShown(
      `guarantee.loss ${options.loss} is shown by threads without labels that nothing learns from, and there are too few`,
      'Give more threads without labels',
    );
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const { limits, task } = definition;
  const scored = await scoredThreads(parts.demonstrations.filter(isFairTest), {
    ...materials,
    definition,
    sequences,
    heldOutScores,
  });
  const guarantee = await guaranteeOnAverage(
    scored.map((thread) => ({ ...thread, gold: null })),
    { ...options, limits, alerts: task.alerts },
  );
  if (guarantee === null)
    throw new GuaranteeNotShown(
      `${scored.length} labelled threads cannot show that at most ${100 * options.level}% of predictions would change on average`,
      `Label more, give at least 150 threads without labels, or allow more with guarantee.level`,
    );
  guaranteeFile.write(run, guarantee);
  keepThreshold(run, guarantee);
}

/** Threads as a trained policy and its detector read them. */
async function scoredThreads(
  threads: readonly Thread[],
  of: StateMaterials & {
    definition: PolicyDefinition;
    sequences: ReadonlyMap<string, JudgementSequence>;
    /** By thread id; the policy scores the others. */
    heldOutScores?: ReadonlyMap<string, readonly number[]> | undefined;
  },
): Promise<ScoredThread[]> {
  const { definition, sequences, heldOutScores, ...materials } = of;
  const { fields } = definition;
  const scored: ScoredThread[] = [];
  for (const thread of threads) {
    const posts = await seenPosts(thread, { ...materials, sequence: sequences.get(thread.id), fields });
    scored.push(scoredThread(thread, { definition, inputs: posts, scores: heldOutScores?.get(thread.id) }));
  }
  return scored;
}

/** One training of a settled agent serves every threshold. Of those that are worth most on these threads, the most careful. */
async function keepBest(
  agent: StopPolicy,
  threads: readonly Thread[],
  { prepared, experiment, run, heldOutScores }: Trained,
): Promise<void> {
  const { sequences, materials } = prepared;
  const policy = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const { tested, scores } = await decideByPolicies({ [agentName]: policy }, threads, { ...materials, sequences });
  const scored = tested.map((thread, index) => ({
    thread,
    scores: heldOutScores?.get(thread.threadId) ?? [...scores[index]],
  }));
  keepThreshold(run, { threshold: bestThreshold(scored, { experiment, policy }) });
}

/** A labelled thread with its judgements, and with the scores of an agent at every post. */
export interface ScoredTestThread {
  readonly thread: TestThread;
  readonly scores: readonly number[];
}

/** Of the thresholds that are worth most on these threads, the most careful. */
function bestThreshold(
  threads: readonly ScoredTestThread[],
  { experiment, policy }: { experiment: Experiment; policy: Pick<PolicyDefinition, 'limits' | 'queries'> },
): number {
  const { costs, agent } = experiment;
  const task = taskOf(experiment);
  const aim = { ...task, costs, price: agent.task };
  const { metrics, of } = worth(aim);
  const tested = threads.map(({ thread }) => thread);
  let best = { threshold: halfway, worth: Number.NEGATIVE_INFINITY };
  for (const threshold of thresholds) {
    const stops = threads.map(({ thread, scores }) => stopByScores(thread, scores, { ...policy, task, threshold }));
    const { decisions } = decide(agentName, tested, stops, policy.queries);
    const value = of(valuesOf(metrics, stopColumns(decisions, aim)));
    if (value > best.worth) best = { threshold, worth: value };
  }
  return best.threshold;
}

/**
 * Decisions of settled agents in folds without calibration threads. The threshold of a fold is chosen on the other folds, by scores of
 * agents that have not seen the threads: an agent is too sure of its training threads and would stop too early.
 * @param folds the tested threads of each fold, scored by its agent
 */
export function decideByOtherFolds(
  folds: readonly (readonly ScoredTestThread[])[],
  { experiment, schedule }: { experiment: Experiment; schedule: PrefixSchedule | null },
): { threshold: number; decisions: readonly Decision[] }[] {
  const { guarantee } = experiment;
  const task = taskOf(experiment);
  const policy = { limits: limitsOf(experiment), queries: agentQueries({ experiment, schedule }) };
  return folds.map((fold) => {
    const others = folds.filter((other) => other !== fold).flat();
    const target = guarantee?.loss === 'disagreement' ? { ...guarantee, ...policy, alerts: task.alerts } : null;
    const calibration =
      target &&
      keptOnAverage(
        others.map((thread) => replayed(thread, task)),
        target,
      );
    const threshold = calibration?.threshold ?? bestThreshold(others, { experiment, policy });
    const stops = fold.map(({ thread, scores }) => stopByScores(thread, scores, { ...policy, task, threshold }));
    const tested = fold.map(({ thread }) => thread);
    return { threshold, decisions: decide(agentName, tested, stops, policy.queries).decisions };
  });
}

/** A thread as a calibration replays it. */
function replayed({ thread, scores }: ScoredTestThread, task: Task) {
  const { predicted } = thread.sequence;
  return {
    posts: countingScores(thread, scores, task).map((score, index) => ({ score, hours: thread.hours[index] })),
    labelAt: (posts: number) => task.labels[predicted[Math.min(posts, predicted.length) - 1]] ?? null,
    gold: null,
  };
}
