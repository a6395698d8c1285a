import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { type CalibrationThread, guaranteeFor } from './calibrate.ts';
import { agentName } from './decisions.ts';
import type { Experiment } from './experiment.ts';
import { guaranteesFile } from './guarantee-file.ts';
import { keepThreshold } from './operating-point.ts';
import { halfway } from './policy-settings.ts';
import type { PreparedTrial } from './prepare.ts';
import { scoredThread } from './scored-thread.ts';
import { learntPolicy, seenPosts } from './states.ts';

/** Finds the guarantee on the calibration part, and stops by it. @throws InputError where no threshold keeps it */
export async function calibrateAgent(
  agent: StopPolicy,
  { prepared, experiment, run }: { prepared: PreparedTrial; experiment: Experiment; run: RunDirectory },
): Promise<void> {
  const { parts, sequences, materials } = prepared;
  const definition = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  const isEmbedded = definition.fields.some(({ name }) => name === 'posts');
  const read: CalibrationThread[] = [];
  for (const thread of parts.calibration) {
    const seen = await seenPosts(thread, { ...materials, sequence: sequences.get(thread.id), isEmbedded });
    read.push({ ...scoredThread(thread, { definition, seen }), gold: null });
  }
  const { limits, task } = definition;
  const guarantee = await guaranteeFor(read, { ...experiment.guarantee, limits, alerts: task.alerts });
  guaranteesFile.write(run, { ...guaranteesFile.find(run), [agentName]: guarantee });
  keepThreshold(run, guarantee);
}
