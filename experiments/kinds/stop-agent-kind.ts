import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { canonicalJson } from '../../src/content-hash.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { sharedOptions } from '../../trainers/stop-agent/population.ts';
import { openCache } from '../stop-agent/cache.ts';
import { type Experiment, loadExperiment } from '../stop-agent/experiment.ts';
import { loadData } from '../stop-agent/parts.ts';
import { renderReport } from '../stop-agent/report/stop-agent-report.ts';
import { summarizeExperiment } from '../stop-agent/report/stop-agent-summary.ts';
import { readTrialResult, type TrialResult, trialJson } from '../stop-agent/result.ts';
import type { TrialSettings } from '../stop-agent/trial.ts';
import type { ExperimentKind } from './experiment-kind.ts';

export const stopAgentKind: ExperimentKind<Experiment, TrialResult> = {
  load: loadExperiment,
  dataOverride: (path) => ({ data: { threads: path } }),
  asksModels: ({ detector }) => 'file' in detector,
  backendOf: ({ backend }) => backend,
  shapeOf: ({ agent, state, encoder, backend, checkpointEvery }) =>
    canonicalJson([Object.fromEntries(sharedOptions(agent)), state, encoder, backend, checkpointEvery]),
  readResult: (run) => readTrialResult(run, { withIntervals: false }),
  readJson: trialJson,
  render: renderReport,
  summarize: summarizeExperiment,
  async page({ variants, ...source }) {
    const { stopAgentPage } = await import('../stop-agent/report/stop-agent-page.ts');
    const read = (directory: string) => ({
      directory,
      result: readTrialResult(RunDirectory.open(directory), { withIntervals: false }),
    });
    const placed = variants.map(({ variant, directories }) => ({ variant, trials: directories.map(read) }));
    return stopAgentPage({ ...source, variants: placed });
  },
  async start({ experiments, runs, onBackend }) {
    const { runTrials } = await import('../stop-agent/trial.ts');
    const backend = await selectBackend(experiments[0].backend);
    onBackend(backend);
    const data = new Map<string, ReturnType<typeof loadData>>();
    const caches = new Map<string, ReturnType<typeof openCache>>();
    const once = <T>(map: Map<string, T>, key: string, make: () => T): T => {
      const made = map.get(key) ?? make();
      map.set(key, made);
      return made;
    };
    return async (trials, context) => {
      const settings: TrialSettings[] = [];
      for (const { experiment, seed, directory, pauseAt } of trials) {
        const dataKey = JSON.stringify([experiment.data, experiment.agent.maxPosts]);
        const threads = await once(data, dataKey, () => loadData(experiment, context.onNote));
        const cache = await once(caches, JSON.stringify(experiment.encoder), () =>
          openCache(join(runs, 'cache'), experiment),
        );
        settings.push({ experiment, seed, directory, pauseAt, threads, cache });
      }
      return runTrials(settings, { backend, context });
    };
  },
};
