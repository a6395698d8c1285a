import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { agentName, type SystemDecisions, type TestThread } from '../decisions.ts';
import { type Experiment, experimentSchema } from '../experiment.ts';
import { readJudged } from '../judged-file.ts';
import type { PlacedTrial, PlacedVariant } from './operating-points.ts';
import type { PlacedDecision } from './stop-distribution.ts';
import { threadReader } from './thread-texts.ts';

/** A finished run with all that the page shows of it. */
export interface ReadRun extends PlacedTrial {
  readonly variant: string;
  readonly experiment: Experiment;
  readonly judged: readonly TestThread[];
  readonly threads: ReadonlyMap<string, Thread>;
  readonly problem: string | null;
  readonly agent: SystemDecisions;
}

export async function readRuns(variants: readonly PlacedVariant[]): Promise<ReadRun[]> {
  const read = threadReader();
  const runs: ReadRun[] = [];
  for (const { variant, trials } of variants)
    for (const trial of trials) {
      const run = RunDirectory.open(trial.directory);
      const experiment = run.readConfig(experimentSchema);
      const { threads, problem } = await read(trial.directory, experiment);
      const judged = readJudged(trial.directory, experiment.evaluation.part) ?? [];
      const agent = trial.result.decisions.find((system) => system.name === agentName)!;
      runs.push({ ...trial, variant, experiment, judged, threads, problem, agent });
    }
  return runs;
}

/** What the agent of a run decided, with the events of the threads and how sure the detector was. */
export function placedDecisions({ agent, judged, threads }: ReadRun): PlacedDecision[] {
  const confidences = new Map(judged.map(({ threadId, input }) => [threadId, input.sequence.confidence]));
  return agent.decisions.map((decision) => {
    const sure = confidences.get(decision.threadId);
    const confidence = sure?.[Math.min(decision.postsUsed, sure.length) - 1] ?? Number.NaN;
    return {
      ...decision,
      event: threads.get(decision.threadId)?.event ?? null,
      confidence: Number.isNaN(confidence) ? null : confidence,
    };
  });
}
