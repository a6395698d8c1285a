import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { bundleFiles } from '../../checkpoints/policy/manifest.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { withClasses } from '../config/own-task.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import { linesOfStops, type StopLine, stopsOfLines } from '../stop-agent/decided-files.ts';
import { agentName } from '../stop-agent/decisions.ts';
import { type Experiment, experimentSchema, resolveExperiment, taskOf } from '../stop-agent/experiment.ts';
import { scoreSystem, stopMetrics, stopScoring } from '../stop-agent/metrics.ts';
import { findPolicy } from '../stop-agent/policy/policy-folder.ts';
import { aimOf } from '../stop-agent/recommendation.ts';
import { systemsOfRun } from '../stop-agent/result.ts';
import { type ExperimentKind, type ScoredSystem, simpleExperiment, splitProblem } from './experiment-kind.ts';

/** The agent comes first. */
function scoreStopAgentRun(path: string, part: EvaluationSplit): ScoredSystem[] {
  const run = RunDirectory.open(path);
  const experiment: Experiment = run.readConfig(experimentSchema);
  return systemsOfRun(run, part).map((system) => {
    const { name, queries } = system;
    const { values } = scoreSystem(system, aimOf(experiment));
    return { name, role: name === agentName ? 'learnt' : queries === 'oracle' ? 'oracle' : 'baseline', values };
  });
}

/** Compares two systems by every metric that is resampled. */
function compareAgents(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const experiment: Experiment = firstRunIn(compared[0].folder).readConfig(experimentSchema);
  const { labels } = taskOf(experiment);
  return compareSystems(compared, {
    items: 'thread',
    labelsOf: (run) => taskOf(run.readConfig(experimentSchema)).labels,
    read(run) {
      const { part } = run.readConfig(experimentSchema).evaluation;
      const stops = systemsOfRun(run, part).flatMap(({ decisions }) => decisions);
      return linesOfStops(stops, { labels, part });
    },
    titleOf: () => 'At the stop',
    scoringOf: () => {
      const { metrics, columnsOf } = stopScoring(aimOf(experiment));
      return {
        metrics,
        columnsOf: (lines: readonly StopLine[]) => columnsOf(stopsOfLines(lines, labels)),
        itemOf: ({ item }: StopLine) => item,
      };
    },
    seed,
  });
}

const recommendedRun = z.looseObject({ run: z.string(), system: z.string() });

const sweepNeedsParts =
  'settings are chosen on a development part, and cross-fitting has none; name parts in split, such as split: { development: 100 }';

export const stopAgentKind: ExperimentKind = {
  name: 'stop-agent',
  schema: experimentSchema,
  metrics: stopMetrics,
  objective: 'macroF1',
  score: scoreStopAgentRun,
  learnt: agentName,
  compare: compareAgents,
  report: async () => (await import('../stop-agent/report/stop-agent-report.ts')).stopAgentReport,
  async ship({ recommended, out }) {
    const { run, system } = recommendedRun.parse(recommended);
    // Results alone were kept of it.
    if (findPolicy(run) === null) return false;
    if (existsSync(out) && !existsSync(join(out, bundleFiles.manifest)))
      throw new InputError(
        `${out} holds no policy, and the recommended one goes there; move that folder, or rename the variant "policy", and give the command again`,
      );
    const { exportPolicy } = await import('../stop-agent/policy/export-policy.ts');
    await exportPolicy({ run, system, out, force: true, keepsSame: true });
    return true;
  },
  soleVariant: 'agent',
  dataOverride: (path) => ({ data: { threads: path } }),
  async resolve({ kind: _, ...raw }, source) {
    const experiment = resolveExperiment(await withClasses(raw, source), source);
    const { data, split, crossFitting, detector, task, backend } = experiment;
    const isModel = 'file' in detector;
    const files = [data.threads].filter((file) => file !== null);
    return {
      ...simpleExperiment(experiment),
      threadFiles: files,
      checkThreads: async (threads, seed) =>
        experiment.crossFitting === null
          ? (await import('../stop-agent/parts.ts')).splitParts(threads, experiment, seed)
          : (await import('../stop-agent/cross-fitting.ts')).crossFittedFacts(threads, { experiment, seed }),
      files,
      sweepProblem: crossFitting === null ? splitProblem(split) : sweepNeedsParts,
      asksModels: isModel,
      detectorKey: isModel
        ? null
        : JSON.stringify([data, crossFitting, split.detector, split.events, split.seed, detector, task]),
      backend,
    };
  },
  async start({ config, backend: backendName, runs }, { onBackend }) {
    // Loaded by the process that trains, and not by those that only divide the work.
    const { selectBackend } = await import('../../src/tensor/backend.ts');
    const { openCache } = await import('../stop-agent/cache.ts');
    const { openData } = await import('../stop-agent/parts.ts');
    const { runTrial } = await import('../stop-agent/trial.ts');
    const { runCrossFitted } = await import('../stop-agent/cross-fitted-trial.ts');
    const backend = await selectBackend(backendName ?? experimentSchema.parse(config).backend);
    onBackend(backend);
    const sources = new PromiseCache<Awaited<ReturnType<typeof openData>>>();
    const caches = new PromiseCache<Awaited<ReturnType<typeof openCache>>>();
    return async ({ config, seed, directory }, context) => {
      const experiment = experimentSchema.parse(config);
      const dataKey = JSON.stringify([experiment.data, experiment.agent.maxPosts]);
      const data = await sources.get(dataKey, () => openData(experiment, context.onNote));
      const cache = await caches.get(JSON.stringify(experiment.encoder), () =>
        openCache(join(runs, 'cache'), experiment),
      );
      const run = experiment.crossFitting === null ? runTrial : runCrossFitted;
      return run({ experiment, seed, directory, data, cache, backend, context });
    };
  },
};
