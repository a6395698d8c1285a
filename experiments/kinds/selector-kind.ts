import { loadSelectorExperiment, type SelectorExperiment } from '../selector/experiment.ts';
import { renderSelectorReport } from '../selector/report/selector-report.ts';
import { summarizeSelectorExperiment } from '../selector/report/selector-summary.ts';
import { readSelectorResult, type SelectorResult, selectorJson } from '../selector/result.ts';
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
  page: async (source) => (await import('../selector/report/selector-page.ts')).selectorPage(source),
  async start({ runs }) {
    const [{ runEventFolds }, { selectorWorkshop }, { runSelectorTrial }] = await Promise.all([
      import('../selector/event-folds.ts'),
      import('../selector/workshop.ts'),
      import('../selector/trial.ts'),
    ]);
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
