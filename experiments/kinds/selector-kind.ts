import { runEventFolds } from '../selector/event-folds.ts';
import { loadSelectorExperiment, type SelectorExperiment } from '../selector/experiment.ts';
import { selectorPage } from '../selector/report/selector-page.ts';
import { renderSelectorReport } from '../selector/report/selector-report.ts';
import { summarizeSelectorExperiment } from '../selector/report/selector-summary.ts';
import { readSelectorResult, type SelectorResult, selectorJson } from '../selector/result.ts';
import { selectorWorkshop } from '../selector/shared.ts';
import { runSelectorTrial } from '../selector/trial.ts';
import type { ExperimentKind } from './experiment-kind.ts';

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
