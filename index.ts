/*
 * The public door: what another program imports from `earshot`. Everything behind it that is not named here may change
 * without notice.
 */

// Threads: what they are, where they come from, how they are cut into parts.
export { importers, importThreads } from './src/data/import-threads.ts';
export { splitThreads } from './src/data/split.ts';
export { synthesizeThreads } from './src/data/synthetic/stream.ts';
export { rumorTask, rumorVeracityTask, type Task, tasks, veracityTask } from './src/data/task.ts';
export { type Post, type Prefix, prefixOf, type Thread } from './src/data/thread.ts';
export { loadThreads, parseThread, readThreads, writeThreads } from './src/data/thread-file.ts';

// Texts as vectors.
export { createEncoder, encoderSchema } from './src/text/create-encoder.ts';
export type { Encoder } from './src/text/encoder.ts';
export { EmbeddingStore } from './src/text/embedding-store.ts';

// Judgements: detectors, their cache, and what experts make of them.
export { type AnnotateResult, annotate } from './experts/annotate.ts';
export type { AnnotateProgress } from './experts/asking/annotation-tally.ts';
export { AnnotationStore } from './experts/annotations/annotation-store.ts';
export { type Detector, detectorIdentity, type Judgement, type Usage } from './experts/detector.ts';
export { createDetector } from './experts/detectors/create-detector.ts';
export { LocalDetector } from './experts/detectors/local/local-detector.ts';
export { trainLocalDetector } from './experts/detectors/local/train-local-detector.ts';
export { type JudgementSequence, judgementSequence } from './experts/judgement-sequence.ts';
export { queriedLengths, type PrefixSchedule } from './experts/prefix-schedule.ts';
export { type ExpertName, expertNames } from './experts/trajectories.ts';

// Environments on plain arrays.
export {
  type RetainedContext,
  selectionState,
  stateSize,
} from './envs/selection-env.ts';
export { buildStateTable, CONTINUE, STOP, type StateTable, stateRow } from './envs/state-table.ts';
export {
  initialState,
  lookAhead,
  type Rollout,
  rollOut,
  type StopEnvOptions,
  type StopEnvState,
} from './envs/stop-env.ts';

// Trainers and the policies they make.
export { type StopAgentConfig, stopAgentSchema } from './trainers/stop-agent/config.ts';
export { buildStopProblem } from './trainers/stop-agent/problem.ts';
export { createStopAgent } from './trainers/stop-agent/create.ts';
export { policyOfState } from './trainers/stop-agent/network-state.ts';
export {
  decideStops,
  type StopDecision,
  type StopPolicy,
  stopProbabilities,
} from './trainers/stop-agent/policy.ts';
export type { StopAgentSettings, StopProblem } from './trainers/stop-agent/problem.ts';
export { embeddingStates, type StateSource, stateTableOf } from './trainers/stop-agent/states.ts';
export { selectorSchema } from './trainers/selector/config.ts';
export { createSelector, type SelectorPolicies, type SelectorTrainer } from './trainers/selector/jsdrv.ts';
export { selectGreedily } from './trainers/selector/select-greedily.ts';
export { type Metrics, type Trainer, type TrainerState, trainToEnd, valuesOf } from './trainers/trainer.ts';
export { loadTrainer, saveTrainer } from './trainers/trainer-checkpoint.ts';

// Runs: directories, the loop with checkpoints and resume.
export { RunDirectory } from './checkpoints/run-directory.ts';
export { trainInDirectory } from './experiments/run/train-in-directory.ts';

// Out of the workbench: a policy that other programs load (they read it by `earshot/policy`), and decisions without labels.
export { exportPolicy } from './experiments/stop-agent/policy/export-policy.ts';
export { type OpenedPolicy, openPolicy } from './experiments/stop-agent/policy/policy-folder.ts';
export { threadDecider } from './experiments/stop-agent/decide.ts';
export { type ThreadDecision, threadDecisionSchema } from './experiments/stop-agent/decide.ts';
export { loadPolicy, type Policy } from './checkpoints/policy/load-policy.ts';
export { afterHours, allPosts, confidentAt, firstPosts, type Rule } from './checkpoints/policy/rules.ts';

// Decisions and scores.
export { type Decision, decide, type SystemDecisions, testThreads } from './experiments/stop-agent/decisions.ts';
export { scoreSystem, type StopMetric, type SystemScores, stopMetrics } from './experiments/stop-agent/metrics.ts';
export { bootstrapInterval } from './src/metrics/bootstrap.ts';
export { classificationScores, macroF1 } from './src/metrics/classification.ts';
export { earlyRate } from './src/metrics/earliness.ts';

// What all of it needs: the tensor backend, seeded chance, a context, errors.
export { InputError, ProviderError } from './src/errors.ts';
export { type BackendChoice, selectBackend } from './src/tensor/backend.ts';
export type { BackendName } from './src/tensor/backend-names.ts';
export { Random } from './src/tensor/random.ts';
export { type WorkContext, workContext } from './src/work-context.ts';
