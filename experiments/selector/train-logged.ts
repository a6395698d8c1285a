import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MetricsLog } from '../../checkpoints/metrics-log.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { TensorBoardWriter } from '../../checkpoints/tensorboard.ts';
import { stanceClasses } from '../../experts/task-models/task-model.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { canonicalJson, sha256 } from '../../src/content-hash.ts';
import type { EmbeddingStore } from '../../src/text/embedding-store.ts';
import { restoreSelector, saveSelector } from '../../trainers/selector/checkpoint.ts';
import { type EpochSelection, trainSelector } from '../../trainers/selector/jsdrv.ts';
import { likeliest } from '../../trainers/selector/likeliest.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import { stancePicture } from '../report/stance-picture.ts';
import { stancePictureSvg } from '../report/stance-picture-svg.ts';
import { epochMetrics } from './epoch-metrics.ts';
import type { SelectorTrial } from './settings.ts';

const checkpointsKept = 2;

/** What states and predictions are made of. */
export function selectorIdentity(training: SelectorTraining, embeddings: EmbeddingStore): string {
  const { stanceModel, veracityModel, config } = training.settings;
  return canonicalJson({
    encoder: embeddings.identityHash,
    models: sha256([stanceModel.identity, veracityModel.identity]),
    selector: sha256(config),
  });
}

/** Trains from the last checkpoint on, logging every epoch. Returns the metrics of the last one. */
export async function trainLogged(
  { experiment, shared, hooks, directory }: SelectorTrial,
  { run, training }: { run: RunDirectory; training: SelectorTraining },
): Promise<Record<string, number>> {
  const identity = selectorIdentity(training, shared.embeddings);
  const latest = run.latestCheckpoint();
  if (latest !== null) {
    restoreSelector(latest.path, training, identity);
    hooks.onNote?.(`resuming ${run.path} at epoch ${training.epoch}`);
  }
  const resumeStep = latest?.step ?? null;
  const log = MetricsLog.open(run.metricsPath, { resumeStep });
  const board = TensorBoardWriter.open(run.path, { resumeStep });
  const lastPath = join(directory, 'last-epoch.json');
  try {
    await trainSelector(training, {
      async onEpoch(selection) {
        const metrics = epochMetrics({ selection, claims: training.settings.claims, threads: shared.data.train });
        log.append({ step: training.epoch, ...metrics });
        board.scalars(training.epoch, metrics);
        writeFileAtomically(lastPath, `${JSON.stringify(metrics)}\n`);
        if (training.epoch === experiment.selector.epochs || training.isTerminated)
          await writePicture({ trial: { experiment, shared, directory }, training, selection });
        log.sync();
        saveSelector(run.checkpointPath(training.epoch), training, identity);
        run.pruneCheckpoints({ keepLast: checkpointsKept });
      },
      ...(hooks.onStage && { onProgress: hooks.onStage }),
      ...(hooks.signal && { signal: hooks.signal }),
    });
  } finally {
    log.close();
    board.close();
  }
  return z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(lastPath, 'utf8')));
}

/** The paper's Figure 3, of the last epoch. */
async function writePicture(options: {
  trial: Pick<SelectorTrial, 'experiment' | 'shared' | 'directory'>;
  training: SelectorTraining;
  selection: EpochSelection;
}): Promise<void> {
  const { trial, training, selection } = options;
  const { experiment, shared, directory } = trial;
  const { picturePoints } = experiment.evaluation;
  if (picturePoints === 0) return;
  const { claims } = training.settings;
  const picture = await stancePicture({
    posts: selection.posts.map(({ claim, post, prediction, isRetained }) => ({
      text: claims[claim].posts[post],
      stance: stanceClasses[likeliest(prediction.distribution)],
      explanation: prediction.explanation,
      isRetained,
    })),
    classes: stanceClasses,
    embed: (texts) => shared.encoder.encode(texts),
    dimensions: shared.encoder.dimensions,
    points: picturePoints,
    seed: training.settings.seed,
  });
  writeFileAtomically(join(directory, 'stance-picture.json'), `${JSON.stringify(picture)}\n`);
  writeFileAtomically(join(directory, 'stance-picture.svg'), stancePictureSvg(picture));
}
