import { InputError } from '../../src/errors.ts';
import { withoutTrained } from '../run/parts-file.ts';
import type { EvaluateRunSettings } from '../stop-agent/evaluate-run.ts';
import { loadSelectorThreads } from './data.ts';
import { decideTest, scoreTest, type TestScores } from './decisions.ts';
import { openSelectorRun } from './open-selector-run.ts';
import { selectorWorkshop } from './shared.ts';
import { allPostsName, selectorName } from './system-names.ts';

export interface SelectorRunScores {
  readonly name: string;
  readonly scores: TestScores;
}

/**
 * A run's selector and task models on another data set. Every reply with a stance and every claim with a veracity is tested,
 * once as the selector reads threads, once with all posts read.
 * @throws InputError when the data has neither label
 */
export async function evaluateSelectorRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: SelectorRunScores[]; threads: number; seed: number }> {
  const { run, data, runs, skipInvalid, includeTrained, context } = settings;
  const workshop = selectorWorkshop({ runs });
  try {
    const { experiment, trained, training } = await openSelectorRun({ run, workshop, budget: {}, context });
    const loaded = await loadSelectorThreads(data, {
      data: { ...experiment.data, skipInvalid },
      onNote: context.onNote,
    });
    const threads = withoutTrained(loaded, { trained, includeTrained, name: data, onNote: context.onNote });
    const { settings: models, policies } = training;
    const scored = async (system: typeof selectorName | typeof allPostsName, name: string) => {
      const decisions = await decideTest({
        test: { name: data, threads },
        settings: models,
        policies: system === selectorName ? policies : null,
        system,
        part: 'test',
        stage: name,
        context,
      });
      return { name, scores: scoreTest(decisions) };
    };
    const systems = [
      await scored(selectorName, 'selector'),
      await scored(allPostsName, 'its task models, reading all posts'),
    ];
    if (systems[0].scores.stance === null && systems[0].scores.veracity === null)
      throw new InputError(
        `none of the ${threads.length} threads of ${data} has a veracity or a reply with a stance; give labelled threads`,
      );
    return { systems, threads: threads.length, seed: models.seed };
  } finally {
    workshop.close();
  }
}
