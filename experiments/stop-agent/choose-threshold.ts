import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { valuesOf } from '../run/metric.ts';
import { guaranteeFor, thresholds } from './calibrate.ts';
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
}

/**
 * Chooses and keeps where a trained agent stops: by a guarantee where there is a calibration part; a settled agent where it is worth most
 * on the development part; any other where stopping is likelier than not.
 * @throws InputError where no threshold keeps the guarantee
 */
export async function chooseThreshold(agent: StopPolicy, trained: Trained): Promise<void> {
  const { experiment, prepared } = trained;
  const { calibration, development } = prepared.parts;
  if (calibration.length > 0) await keepGuarantee(agent, trained);
  else if (experiment.agent.algorithm === 'settled' && development.length > 0) await keepBest(agent, trained);
}

/** Finds the guarantee on the calibration part, and stops by it. */
async function keepGuarantee(agent: StopPolicy, { prepared, experiment, run }: Trained): Promise<void> {
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const scored = await scoredThreads(parts.calibration, { ...materials, definition, sequences });
  const { limits, task } = definition;
  const wanted = { ...experiment.guarantee, limits, alerts: task.alerts };
  const guarantee = await guaranteeFor(
    scored.map((thread) => ({ ...thread, gold: null })),
    wanted,
  );
  guaranteesFile.write(run, { ...guaranteesFile.find(run), [agentName]: guarantee });
  keepThreshold(run, guarantee);
}

/** One training of a settled agent serves every threshold. Of those that are worth most on the development part, the most careful. */
async function keepBest(agent: StopPolicy, { prepared, experiment, run }: Trained): Promise<void> {
  const { parts, sequences, materials } = prepared;
  const policy = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const judged = { ...materials, sequences };
  const { tested, scores } = await decideByPolicies({ [agentName]: policy }, parts.development, judged);
  const { costs, agent: options } = experiment;
  const aim = { ...taskOf(experiment), costs, price: options.task };
  const { metrics, of } = worth(aim);
  let best = { threshold: halfway, worth: Number.NEGATIVE_INFINITY };
  for (const threshold of thresholds) {
    const stops = tested.map((thread, index) => stopByScores(thread, [...scores[index]], { ...policy, threshold }));
    const { decisions } = decide(agentName, tested, stops, policy.queries);
    const own = of(valuesOf(metrics, stopColumns(decisions, aim)));
    if (own > best.worth) best = { threshold, worth: own };
  }
  keepThreshold(run, best);
}
