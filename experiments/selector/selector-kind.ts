import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotation-store.ts';
import { createEncoder } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { ExperimentKind, TrialHooks } from '../experiment-kind.ts';
import { loadSelectorData } from './selector-data.ts';
import { loadSelectorExperiment, type SelectorExperiment } from './selector-experiment.ts';
import { chatServiceOf } from './selector-models.ts';
import { renderSelectorReport } from './selector-report.ts';
import { runSelectorTrial, type SelectorResult, type SelectorShared, selectorResultSchema } from './selector-trial.ts';

export const selectorKind: ExperimentKind<SelectorExperiment, SelectorResult> = {
  load: loadSelectorExperiment,
  dataOverride: (path) => ({ data: { train: path } }),
  resultSchema: selectorResultSchema,
  render: renderSelectorReport,
  async start({ runs }) {
    const shared = new Map<string, Promise<SelectorShared>>();
    return async ({ experiment, seed, directory }, hooks) => {
      const { data, encoder, budget, retry } = experiment;
      const key = JSON.stringify([data, encoder, budget, retry]);
      const known = shared.get(key) ?? openShared(experiment, { runs, hooks });
      shared.set(key, known);
      return runSelectorTrial({ experiment, seed, directory, shared: await known, hooks });
    };
  },
};

/** What trials of the same data and encoder share. */
export async function openShared(
  experiment: SelectorExperiment,
  { runs, hooks }: { runs: string; hooks: TrialHooks },
): Promise<SelectorShared> {
  const cache = join(runs, 'cache');
  mkdirSync(cache, { recursive: true });
  const encoder = await createEncoder(experiment.encoder);
  return {
    data: await loadSelectorData(experiment, hooks.onNote),
    encoder,
    embeddings: await EmbeddingStore.open({ encoder, directory: join(cache, 'embeddings') }),
    annotations: AnnotationStore.open(join(cache, 'annotations.sqlite')),
    service: chatServiceOf(experiment, hooks.signal),
    runs,
  };
}
