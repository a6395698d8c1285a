/*
 * One trial of selection-curves.ts on planted threads: JSDRV by each post reward beside other selections, all tuning the same task
 * models as experiments/recipes/selector-planted.yaml has them, on 100 threads.
 */
import { join } from 'node:path';
import { openExperiment } from '../experiments/runner/open-experiment.ts';
import { trainBaseline } from '../experiments/selector/baselines.ts';
import { decideTest, type SelectorDecision } from '../experiments/selector/decisions.ts';
import { selectorExperimentSchema } from '../experiments/selector/experiment.ts';
import { keptDecisions } from '../experiments/selector/kept-models.ts';
import { testedAndHeldOut } from '../experiments/selector/protocol.ts';
import { taskScores } from '../experiments/selector/scores.ts';
import { freshSettings, selectorResources } from '../experiments/selector/selector-resources.ts';
import { PredictionTally } from '../experts/task-models/chat/prediction-tally.ts';
import { workContext } from '../src/work-context.ts';
import { createSelector } from '../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../trainers/selector/setup.ts';
import { trainToEnd } from '../trainers/trainer.ts';

const rewards = { claim: 'JSDRV, claim (REINFORCE)', 'reward-to-go': 'JSDRV, reward-to-go' };
const beside = ['untuned', 'random-by-class', 'right-labels'] as const;
type System = 'selector' | (typeof beside)[number];

/**
 * Macro-F1 of stance of every system as it was tuned, and with the models that it keeps by the threads held out from the test (`…, kept`); and
 * the processor seconds of each training of JSDRV.
 */
export async function plantedSelection(options: {
  slipperyShare: number;
  seed: number;
  runs: string;
}): Promise<Record<string, number>> {
  const { slipperyShare, seed, runs } = options;
  const { members } = await openExperiment({
    path: join(import.meta.dirname, '../experiments/recipes/selector-planted.yaml'),
    overrides: [{ data: { planted: { slipperyShare, threads: 100, testThreads: 100 } }, seeds: [seed] }],
    variants: ['counterfactual'],
    runs,
  });
  const [{ config }] = members[0].trials;
  const resources = selectorResources({ runs });
  const context = workContext();
  try {
    const seconds: Record<string, number> = {};
    const decided = new Map<string, { system: System; decisions: SelectorDecision[] }>();
    for (const [postReward, name] of Object.entries(rewards)) {
      const recipe = selectorExperimentSchema.parse(config);
      const experiment = selectorExperimentSchema.parse({ ...recipe, selector: { ...recipe.selector, postReward } });
      const shared = await resources.sharedFor(experiment, context);
      const { tested, heldOut } = testedAndHeldOut(experiment, shared.data.tests);
      const tally = new PredictionTally();
      const trial = { experiment, seed, directory: runs, shared, tally, context, tested, heldOut };
      const decide = async ({ settings }: SelectorTraining, system: System) => {
        const rest = { settings, system, stage: system, context, policies: null };
        return {
          system,
          decisions: [
            ...(await decideTest({ test: tested[0], part: 'test', ...rest })),
            ...(await decideTest({ test: heldOut[0], part: 'development', ...rest })),
          ],
        };
      };
      const trainer = createSelector(await freshSettings(trial));
      const before = process.cpuUsage();
      await trainToEnd(trainer, context);
      const { user, system } = process.cpuUsage(before);
      seconds[`${name}, seconds`] = (user + system) / 1e6;
      decided.set(name, await decide(trainer.training, 'selector'));
      if (postReward !== 'reward-to-go') continue;
      for (const name of beside)
        decided.set(name, await decide(await trainBaseline(trial, { name, selector: trainer.training }), name));
    }
    const untuned = decided.get('untuned')!.decisions;
    const stanceF1 = (decisions: readonly SelectorDecision[]) =>
      taskScores(
        'stance',
        decisions.filter(({ part }) => part === 'test'),
      )!.values.macroF1;
    const scores = [...decided].flatMap(([name, { system, decisions }]) => [
      [name, stanceF1(decisions)],
      [`${name}, kept`, stanceF1(keptDecisions(system === 'untuned' ? untuned : [...decisions, ...untuned], system))],
    ]);
    return { ...Object.fromEntries(scores), ...seconds };
  } finally {
    resources.close();
  }
}
