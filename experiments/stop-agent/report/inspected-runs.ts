import { isLearnt, isShown } from '../decisions.ts';
import { readStopProbabilities } from '../stop-probabilities-file.ts';
import { debatesOf } from './debates.ts';
import type { InspectedRun } from './inspector-data.ts';
import type { ReadRun } from './read-runs.ts';

/** The runs, those of a seed one after another, with texts and debates; and what could not be read. */
export async function inspectedRuns(
  runs: readonly ReadRun[],
  cache: string,
): Promise<{ runs: InspectedRun[]; notes: string[] }> {
  const notes = new Set<string>();
  const inspected: InspectedRun[] = [];
  for (const {
    variant,
    experiment,
    judged,
    threads,
    problem,
    agent,
    directory,
    result: { decisions, seed },
  } of runs) {
    if (problem !== null) notes.add(`Texts are missing: ${problem}.`);
    const { part } = experiment.evaluation;
    const stopProbabilities = readStopProbabilities(directory, part);
    if (stopProbabilities === null)
      notes.add(`${variant} kept no stop probabilities, because an earlier version trained it.`);
    if (judged.length === 0)
      notes.add(`${variant} kept no judgements, because an earlier version trained it; its threads are not shown.`);
    const { debates, problem: debatesProblem } = await debatesOf({
      experiment,
      threads,
      decisions: agent.decisions,
      cache,
    });
    if (debatesProblem !== null) notes.add(`Debates are missing: ${debatesProblem}.`);
    const shown = decisions.filter(({ name }) => name !== agent.name && (isShown(name) || isLearnt(name)));
    if (judged.length > 0)
      inspected.push({ variant, seed, judged, systems: [agent, ...shown], stopProbabilities, threads, debates });
  }
  return { runs: inspected, notes: [...notes] };
}
