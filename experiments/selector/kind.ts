import { selectorPage } from '../report/page/selector-page.ts';
import { renderSelectorReport } from '../report/selector-report.ts';
import { summarizeSelectorExperiment } from '../report/selector-summary.ts';
import type { ExperimentKind } from '../run/experiment-kind.ts';
import { runEventFolds } from './event-folds.ts';
import { loadSelectorExperiment, type SelectorExperiment } from './experiment.ts';
import { readSelectorResult, type SelectorResult, selectorJson } from './result.ts';
import { selectorWorkshop } from './shared.ts';
import { runSelectorTrial } from './trial.ts';

export const selectorKind: ExperimentKind<SelectorExperiment, SelectorResult> = {
  load: loadSelectorExperiment,
  dataOverride: (path) => ({ data: { train: path } }),
  asksModels: ({ stanceModel, veracityModel }) => stanceModel.name === 'chat' || veracityModel.name === 'chat',
  // Its task models serve one selector.
  backendOf: () => null,
  shapeOf: () => null,
  readResult: readSelectorResult,
  readJson: selectorJson,
  render: renderSelectorReport,
  summarize: summarizeSelectorExperiment,
  page: selectorPage,
  async start({ runs }) {
    // Stays open until the process ends, because nobody knows which trial is the last.
    const workshop = selectorWorkshop({ runs });
    return async ([{ experiment, seed, directory }], context) => {
      if (experiment.data.heldOutEvents === 'each')
        return runEventFolds({ experiment, seed, directory, workshop, context });
      const shared = await workshop.sharedFor(experiment, context);
      return runSelectorTrial({ experiment, seed, directory, shared, context });
    };
  },
};
