import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { valuesOf } from '../run/metric.ts';
import { guaranteeFor, guaranteeOnAverage, thresholds } from './calibrate.ts';
import { agentName, decide, stopByScores } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { stopColumns } from './metrics.ts';
import { guaranteesFile, keepThreshold } from './operating-point.ts';
import { halfway } from './policy-settings.ts';
import type { PreparedTrial } from './prepare.ts';
import { worth } from './recommendation.ts';
import { scoredThreads } from './scored-thread.ts';
import { decideByPolicies, learntPolicy } from './states.ts';

interface Trained {
  readonly prepared: PreparedTrial;
  readonly experiment: Experiment;
  readonly run: RunDirectory;
  /** Of the demonstration threads, by agents that have not seen them, by thread id; the agent's own unless given. */
  readonly heldOutScores?: ReadonlyMap<string, readonly number[]>;
  readonly context: WorkContext;
}

/**
 * Chooses and keeps where a trained agent stops: by a guarantee where one is wanted; a settled agent otherwise where it is worth most on
 * threads that were set aside for it, or judged by cross-fitting; any other where stopping is likelier than not.
 * @throws InputError where no threshold keeps the guarantee
 */
export async function chooseThreshold(agent: StopPolicy, trained: Trained): Promise<void> {
  const { experiment, prepared, context } = trained;
  const { guarantee, crossFitting } = experiment;
  const { calibration, development, demonstrations } = prepared.parts;
  if (guarantee !== null && calibration.length > 0) return keepGuarantee(agent, { ...trained, guarantee });
  if (guarantee !== null && crossFitting !== null) {
    if (await keepAverage(agent, { ...trained, guarantee })) return;
    context.onNote(
      guarantee.loss === 'disagreement'
        ? `${demonstrations.length} labelled threads cannot show that at most ${100 * guarantee.level}% of predictions would change on average, so the policy has no guarantee. Label more, or allow more with guarantee.level`
        : `guarantee.loss ${guarantee.loss} needs unlabelled threads that nothing learns from, and there are too few, so the policy has no guarantee. Give more threads`,
    );
  }
  if (experiment.agent.algorithm !== 'settled') return;
  const judged = crossFitting === null ? development : demonstrations;
  if (judged.length > 0) await keepBest(agent, judged, trained);
}

type GuaranteeOptions = NonNullable<Experiment['guarantee']>;

/** Finds the guarantee on the calibration part, and stops by it. */
async function keepGuarantee(
  agent: StopPolicy,
  { prepared, run, guarantee: options }: Trained & { guarantee: GuaranteeOptions },
): Promise<void> {
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const scored = await scoredThreads(parts.calibration, { ...materials, definition, sequences });
  const { limits, task } = definition;
  const guarantee = await guaranteeFor(
    scored.map((thread) => ({ ...thread, gold: null })),
    { ...options, limits, alerts: task.alerts },
  );
  guaranteesFile.write(run, { ...guaranteesFile.find(run), [agentName]: guarantee });
  keepThreshold(run, guarantee);
}

/** Finds the guarantee on the labelled threads, whose judgements are those of detectors that have not seen them. False where it cannot be shown. */
async function keepAverage(
  agent: StopPolicy,
  { prepared, run, heldOutScores, guarantee: options }: Trained & { guarantee: GuaranteeOptions },
): Promise<boolean> {
  if (options.loss !== 'disagreement') return false;
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const { limits, task } = definition;
  const scored = await scoredThreads(parts.demonstrations, { ...materials, definition, sequences, heldOutScores });
  const guarantee = await guaranteeOnAverage(
    scored.map((thread) => ({ ...thread, gold: null })),
    { ...options, limits, alerts: task.alerts },
  );
  if (guarantee === null) return false;
  guaranteesFile.write(run, { ...guaranteesFile.find(run), [agentName]: guarantee });
  keepThreshold(run, guarantee);
  return true;
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
  const { costs, agent: options } = experiment;
  const aim = { ...taskOf(experiment), costs, price: options.task };
  const { metrics, of } = worth(aim);
  let best = { threshold: halfway, worth: Number.NEGATIVE_INFINITY };
  for (const threshold of thresholds) {
    const stops = tested.map((thread, index) =>
      stopByScores(thread, heldOutScores?.get(thread.threadId) ?? [...scores[index]], { ...policy, threshold }),
    );
    const { decisions } = decide(agentName, tested, stops, policy.queries);
    const own = of(valuesOf(metrics, stopColumns(decisions, aim)));
    if (own > best.worth) best = { threshold, worth: own };
  }
  keepThreshold(run, best);
}
