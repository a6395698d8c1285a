/*
 * One trial of selection-curves.ts on planted threads: JSDRV by each post reward beside other selections, all tuning the same task
 * models as experiments/recipes/selector-planted.yaml has them, on 100 threads.
 */
import { join } from 'node:path';
import { openExperiment } from '../experiments/kinds/open-experiment.ts';
import { trainBaseline } from '../experiments/selector/baselines.ts';
import { decideTest } from '../experiments/selector/decisions.ts';
import { selectorExperimentSchema } from '../experiments/selector/experiment.ts';
import { testedAndHeldOut } from '../experiments/selector/protocol.ts';
import { scoreTest } from '../experiments/selector/scores.ts';
import { freshSettings, selectorWorkshop } from '../experiments/selector/workshop.ts';
import { workContext } from '../src/work-context.ts';
import { createSelector } from '../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../trainers/selector/setup.ts';
import { trainToEnd } from '../trainers/trainer.ts';

const rewards = { claim: 'JSDRV, claim (REINFORCE)', 'reward-to-go': 'JSDRV, reward-to-go' };
const beside = ['untuned', 'random-by-class', 'seed-agreement', 'regression', 'right-labels'] as const;

/** Macro-F1 of stance of every system, and the processor seconds of each training of JSDRV. */
export async function plantedSelection(options: {
  slipperyShare: number;
  seed: number;
  runs: string;
}): Promise<Record<string, number>> {
  const { slipperyShare, seed, runs } = options;
  const { trials } = await openExperiment({
    path: join(import.meta.dirname, '../experiments/recipes/selector-planted.yaml'),
    overrides: [{ data: { planted: { slipperyShare, threads: 100, testThreads: 100 } }, seeds: [seed] }],
    variants: ['counterfactual'],
    runs,
  });
  const workshop = selectorWorkshop({ runs });
  const context = workContext();
  try {
    const scores: Record<string, number> = {};
    for (const [postReward, name] of Object.entries(rewards)) {
      const recipe = selectorExperimentSchema.parse(trials[0].config);
      const experiment = selectorExperimentSchema.parse({ ...recipe, selector: { ...recipe.selector, postReward } });
      const shared = await workshop.sharedFor(experiment, context);
      const { tested, heldOut } = testedAndHeldOut(experiment, shared.data.tests);
      const trial = { experiment, seed, directory: runs, shared, context, tested, heldOut };
      const stanceF1 = async ({ settings }: SelectorTraining, system: 'selector' | (typeof beside)[number]) => {
        const rest = { part: 'test', stage: system, context, policies: null } as const;
        const decisions = await decideTest({ test: tested[0], settings, system, ...rest });
        return scoreTest(decisions).stance?.values.macroF1 ?? Number.NaN;
      };
      const trainer = createSelector(await freshSettings(trial));
      const before = process.cpuUsage();
      await trainToEnd(trainer, context);
      const { user, system } = process.cpuUsage(before);
      scores[name] = await stanceF1(trainer.training, 'selector');
      scores[`${name}, seconds`] = (user + system) / 1e6;
      if (postReward !== 'reward-to-go') continue;
      for (const system of beside)
        scores[system] = await stanceF1(
          await trainBaseline(trial, { name: system, selector: trainer.training }),
          system,
        );
    }
    return scores;
  } finally {
    workshop.close();
  }
}
