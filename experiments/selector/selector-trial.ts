import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MetricsLog } from '../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { TensorBoardWriter } from '../../checkpoints/tensorboard.ts';
import type { AnnotationStore } from '../../experts/annotation-store.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import { stanceClasses } from '../../experts/task-models/task-model.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { diskError } from '../../src/disk-error.ts';
import type { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { trainSelector } from '../../trainers/jsdrv.ts';
import { restoreSelector, saveSelector } from '../../trainers/jsdrv-checkpoint.ts';
import {
  createSelectorTraining,
  type HiddenLabels,
  type SelectorSettings,
  type SelectorTraining,
} from '../../trainers/jsdrv-training.ts';
import { likeliest } from '../../trainers/likeliest.ts';
import { canonicalJson, sha256 } from '../content-hash.ts';
import type { TrialHooks } from '../experiment-kind.ts';
import { epochMetrics } from './epoch-metrics.ts';
import { evaluateSelector, type TestScores, testScoresSchema } from './evaluate-selector.ts';
import { runConfig } from './run-config.ts';
import { replyStances, type SelectorData, selectorClaims, selectorDataHash, type TestSet } from './selector-data.ts';
import { besideSystems, type SelectorExperiment } from './selector-experiment.ts';
import { createTaskModels } from './selector-models.ts';
import { stancePicture } from './stance-picture.ts';
import { stancePictureSvg } from './stance-picture-svg.ts';
import { superviseTaskModels } from './supervised.ts';
import { splitTests } from './test-parts.ts';

export const selectorName = 'selector';

const systemSchema = z.strictObject({
  name: z.enum([selectorName, ...besideSystems]),
  tests: z.record(z.string(), testScoresSchema),
  /** On the threads held out from the tests: what settings may be chosen by. */
  heldOut: z.record(z.string(), testScoresSchema),
});

export const selectorResultSchema = z.strictObject({
  seed: z.int(),
  claims: z.strictObject({ labelled: z.int(), unlabelled: z.int(), posts: z.int(), sharedWithTests: z.int() }),
  epochs: z.int(),
  isTerminated: z.boolean().describe('whether the run of full rewards ended the training'),
  lastEpoch: z.record(z.string(), z.number()).describe('the metrics of the last epoch'),
  systems: z.array(systemSchema),
});
export type SelectorResult = z.output<typeof selectorResultSchema>;

/** What the trials of a process share. */
export interface SelectorShared {
  readonly data: SelectorData;
  readonly encoder: Encoder;
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly service: ChatService;
  readonly runs: string;
}

const checkpointsKept = 2;

/**
 * One run: trains the selector, tests it, then every system beside it with the same claims, seed and number of epochs. What
 * is finished is read, what was cut off goes on from the last epoch.
 */
export async function runSelectorTrial(settings: {
  experiment: SelectorExperiment;
  seed: number;
  directory: string;
  shared: SelectorShared;
  hooks: TrialHooks;
}): Promise<SelectorResult> {
  const { experiment, seed, directory, shared } = settings;
  const { data } = shared;
  const run = RunDirectory.create(directory, {
    config: runConfig(experiment),
    facts: {
      seed,
      backend: 'none',
      device: 'processor',
      hashes: {
        data: selectorDataHash(data),
        embeddings: shared.embeddings.identityHash,
      },
    },
  });
  if (run.isFinished()) return run.readResult(selectorResultSchema);

  const { tested, heldOut } = splitTests(data.tests, { share: experiment.evaluation.heldOutShare });
  const trial: Trial = { ...settings, tested, heldOut };
  const training = createSelectorTraining(await freshSettings(trial));
  const lastEpoch = await trainLogged(trial, { run, training });
  const systems = [await scored(trial, selectorName, () => Promise.resolve(training))];
  // Without a test there is nothing to compare, and training costs.
  for (const name of data.tests.length === 0 ? [] : experiment.evaluation.beside)
    systems.push(await scored(trial, name, () => trainedBeside(trial, { name, selector: training })));
  const { claims } = training.settings;
  const result: SelectorResult = {
    seed,
    claims: {
      labelled: claims.filter(({ label }) => label !== null).length,
      unlabelled: claims.filter(({ label }) => label === null).length,
      posts: claims.reduce((sum, { posts }) => sum + posts.length, 0),
      sharedWithTests: data.sharedWithTests,
    },
    epochs: training.epoch,
    isTerminated: training.isTerminated,
    lastEpoch,
    systems,
  };
  run.writeResult(result);
  return result;
}

interface Trial {
  readonly experiment: SelectorExperiment;
  readonly seed: number;
  readonly directory: string;
  readonly shared: SelectorShared;
  readonly hooks: TrialHooks;
  readonly tested: readonly TestSet[];
  readonly heldOut: readonly TestSet[];
}

/** With task models that have learnt nothing yet. */
export async function freshSettings({
  experiment,
  seed,
  shared,
  hooks,
}: Pick<Trial, 'experiment' | 'seed' | 'shared' | 'hooks'>): Promise<SelectorSettings> {
  const { data, encoder, embeddings, annotations, service, runs } = shared;
  return {
    ...(await createTaskModels(experiment, { service, annotations, runs, ...hooks })),
    claims: selectorClaims(data.train, { seedShare: experiment.seedShare, seed }),
    stancePretraining: data.stancePretraining,
    embedTexts: (texts) => embeddings.embed(texts),
    embedExplanations: (texts) => encoder.encode(texts),
    dimensions: encoder.dimensions,
    config: experiment.selector,
    seed,
  };
}

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
async function trainLogged(
  { experiment, shared, hooks, directory }: Trial,
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
          await writePicture({ experiment, shared, directory, training, selection });
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
  experiment: SelectorExperiment;
  shared: SelectorShared;
  directory: string;
  training: SelectorTraining;
  selection: Parameters<NonNullable<Parameters<typeof trainSelector>[1]>['onEpoch'] & {}>[0];
}): Promise<void> {
  const { experiment, shared, directory, training, selection } = options;
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

type Besides = (typeof besideSystems)[number];

/** The task models of a system, trained with the same claims and seed; for as many epochs as the selector, where it has epochs. */
async function trainedBeside(
  trial: Trial,
  { name, selector }: { name: Besides; selector: SelectorTraining },
): Promise<SelectorTraining> {
  const settings = await freshSettings(trial);
  const { config } = settings;
  const everything = {
    ...config,
    retain: { claims: 'all', posts: 'all' },
    stopAfterFullRewards: null,
    // Nothing learns from rewards here: the cheapest ones, which ask the task models the fewest questions.
    postReward: 'claim',
    references: 'shown-posts',
  } as const;
  const training = createSelectorTraining({
    ...settings,
    ...(name === 'random' && { randomOfSize: selector.retainedCounts }),
    ...(name === 'oracle' && { oracle: hiddenLabels(trial.shared.data.train) }),
    // Pretrained, and not one epoch more.
    ...(name === 'untuned' && { randomOfSize: [] }),
    config: { ...everything, epochs: Math.max(1, selector.epoch) },
  });
  const { hooks } = trial;
  if (name === 'supervised') {
    await superviseTaskModels({ settings, threads: trial.shared.data.train, heldOut: trial.heldOut });
    return training;
  }
  await trainSelector(training, {
    onProgress: (stage, done, total) => hooks.onStage?.(`${name}: ${stage}`, done, total),
    ...(hooks.signal && { signal: hooks.signal }),
  });
  return training;
}

function hiddenLabels(threads: readonly Thread[]): HiddenLabels {
  const stances = threads.map(replyStances);
  return {
    stanceOf: (claim, post) => stances[claim][post],
    veracityOf: (claim) => veracityTask.goldLabel(threads[claim]) ?? -1,
  };
}

/** Scores of a system on every test set, kept beside the run so that a resumed one does not train it again. */
async function scored(
  trial: Trial,
  name: typeof selectorName | Besides,
  train: () => Promise<SelectorTraining>,
): Promise<SelectorResult['systems'][number]> {
  const { directory, tested, heldOut, experiment, hooks } = trial;
  const folder = join(directory, 'systems');
  const path = join(folder, `${name}.json`);
  if (existsSync(path)) return systemSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const { settings, policies } = await train();
  const readsRetained = name === selectorName && experiment.evaluation.posts === 'retained';
  const scoresOn = async (sets: readonly TestSet[]) => {
    const scores: Record<string, TestScores> = {};
    for (const test of sets)
      scores[test.name] = await evaluateSelector({
        test,
        settings,
        policies: readsRetained ? policies : null,
        onProgress: (done, total) => hooks.onStage?.(`testing ${name} on ${test.name}`, done, total),
        signal: hooks.signal,
      });
    return scores;
  };
  const system = { name, tests: await scoresOn(tested), heldOut: await scoresOn(heldOut) };
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make ${folder}` });
  }
  writeFileAtomically(path, `${JSON.stringify(system, null, 2)}\n`);
  return system;
}
