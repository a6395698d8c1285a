import { join } from 'node:path';
import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { likeliest, stanceClasses } from '../../experts/task-models/task-model.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { canonicalJson, sha256 } from '../../src/content-hash.ts';
import { readJsonFile } from '../../src/json-file.ts';
import type { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { EpochSelection, SelectorTrainer } from '../../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import { trainInDirectories } from '../run/train-in-directories.ts';
import { replyStances } from './data.ts';
import { epochMetrics } from './epoch-metrics.ts';
import { writeLastSelection } from './last-selection-file.ts';
import { stancePicture, stancePictureFile } from './report/stance-picture.ts';
import type { SelectorTrial } from './settings.ts';

/** What states and predictions are made of. */
export function selectorIdentity(training: SelectorTraining, embeddings: EmbeddingStore): string {
  const { stanceModel, veracityModel, config } = training.settings;
  return canonicalJson({
    encoder: embeddings.identityHash,
    models: sha256([stanceModel.identity, veracityModel.identity]),
    selector: sha256(config),
  });
}

/** Trains from the last checkpoint on. Returns the metrics of the last epoch; null when the signal stopped it. */
export async function trainLogged(
  { shared, context, directory }: SelectorTrial,
  { run, trainer }: { run: RunDirectory; trainer: SelectorTrainer },
): Promise<Record<string, number> | null> {
  const { training } = trainer;
  const lastPath = join(directory, 'last-epoch.json');
  const isFinished = await trainInDirectories(trainer, {
    runs: [run],
    identities: [selectorIdentity(training, shared.embeddings)],
    checkpointEvery: 1,
    context,
    async afterIteration(own) {
      const { selection } = trainer;
      if (selection === null) return own;
      const metrics = epochMetrics({ selection, claims: training.settings.claims, threads: shared.data.train });
      writeFileAtomically(lastPath, `${JSON.stringify(metrics)}\n`);
      if (trainer.iteration >= trainer.iterations) {
        writeLastSelection(directory, { selection, claims: training.settings.claims, threads: shared.data.train });
        await writePicture({ trial: { shared, directory }, training, selection });
      }
      return [metrics];
    },
  });
  return isFinished ? readJsonFile(lastPath, z.record(z.string(), z.number())) : null;
}

/** The paper's Figure 3, of the last epoch. */
async function writePicture(options: {
  trial: Pick<SelectorTrial, 'shared' | 'directory'>;
  training: SelectorTraining;
  selection: EpochSelection;
}): Promise<void> {
  const { trial, training, selection } = options;
  const { shared, directory } = trial;
  const { claims } = training.settings;
  const picture = await stancePicture({
    posts: selection.posts.map(({ claim, post, prediction, isRetained }) => {
      const stance = likeliest(prediction.distribution);
      const gold = replyStances(shared.data.train[claim])[post];
      return {
        text: claims[claim].posts[post],
        stance: stanceClasses[stance],
        explanation: prediction.explanation,
        isRetained,
        isRight: gold < 0 ? null : gold === stance,
      };
    }),
    embed: (texts) => shared.encoder.encode(texts),
    dimensions: shared.encoder.dimensions,
    seed: training.settings.seed,
  });
  writeFileAtomically(join(directory, stancePictureFile), `${JSON.stringify(picture)}\n`);
}
