import { renderSelectorReport } from '../report/selector-report.ts';
import type { ExperimentKind } from '../run/experiment-kind.ts';
import { loadSelectorExperiment, type SelectorExperiment } from './experiment.ts';
import { selectorWorkshop } from './shared.ts';
import { runSelectorTrial, type SelectorResult, selectorResultSchema } from './trial.ts';

export const selectorKind: ExperimentKind<SelectorExperiment, SelectorResult> = {
  load: loadSelectorExperiment,
  dataOverride: (path) => ({ data: { train: path } }),
  resultSchema: selectorResultSchema,
  render: renderSelectorReport,
  async start({ runs }) {
    // Open until the process ends: there is no last trial that it could be closed after.
    const workshop = selectorWorkshop({ runs });
    return async ({ experiment, seed, directory }, hooks) => {
      const shared = await workshop.sharedFor(experiment, hooks);
      return runSelectorTrial({ experiment, seed, directory, shared, hooks });
    };
  },
};
