import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleFiles } from '../../checkpoints/bundle/manifest.ts';
import type { StopPromise } from '../../checkpoints/bundle/promise.ts';
import { promiseInBundle } from '../../checkpoints/bundle/write-bundle.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { tasks } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { decideStops } from '../../trainers/stop-agent/policy.ts';
import { readParts, threadIdentity } from '../run/parts-file.ts';
import { knownBy, policyOfBundle } from './bundle-folder.ts';
import type { CalibrationThread } from './calibrate.ts';
import { shownPart } from './decide.ts';
import { openStopAgentRun } from './open-run.ts';
import { promiseFile } from './promise-file.ts';

/** An agent that can be calibrated, in a run or in a bundle. */
export interface CalibrationAgent {
  readonly name: string;
  /** The gold label of a thread; null where it has none. */
  goldOf(thread: Thread): string | null;
  /** Whether it learnt from the thread or was tested on it. */
  isKnown(thread: Thread): boolean;
  read(threads: readonly Thread[]): Promise<CalibrationThread[]>;
  /** From then on the agent decides by the promise. */
  keep(promise: StopPromise): Promise<void>;
}

/** @throws InputError for a folder that is neither a run of a stop agent nor a bundle with its detector */
export async function calibrationAgent(
  folder: string,
  options: { runs: string; context: WorkContext },
): Promise<CalibrationAgent> {
  return existsSync(join(folder, bundleFiles.manifest)) ? agentOfBundle(folder) : agentOfRun(folder, options);
}

async function agentOfRun(folder: string, options: { runs: string; context: WorkContext }): Promise<CalibrationAgent> {
  const opened = await openStopAgentRun({ run: folder, ...options });
  const { run, experiment, task, policy, tableOf } = opened;
  const known = identitiesOf(run);
  const goldOf = (thread: Thread) => task.labels[task.goldLabel(thread) ?? -1] ?? null;
  return {
    name: folder,
    goldOf,
    isKnown: (thread) => known.has(threadIdentity(thread)),
    async read(whole) {
      const threads = whole.map((thread) => shownPart(thread, experiment.agent.maxPosts));
      const sequences = await opened.judged(threads);
      const stops = await decideStops(policy, { threads, tableOf: (own) => tableOf(own, { sequences }) });
      return threads.map((thread, index) => {
        const { predicted, confidence } = sequenceOf(thread, sequences);
        return {
          claim: thread.posts[0].text,
          posts: thread.posts.length,
          stopProbability: stops[index].stopProbability,
          labelAt: (posts) => task.labels[predicted[Math.min(posts, predicted.length) - 1]] ?? null,
          confidence,
          gold: goldOf(thread),
        };
      });
    },
    keep: async (promise) => promiseFile.write(run, promise),
  };
}

function sequenceOf({ id }: Thread, sequences: ReadonlyMap<string, JudgementSequence>): JudgementSequence {
  const sequence = sequences.get(id);
  if (sequence === undefined) throw new Error(`thread ${id} was judged and has no judgements`);
  return sequence;
}

function identitiesOf(run: RunDirectory): ReadonlySet<string> {
  return new Set(
    Object.values(readParts(run))
      .flat()
      .map(({ identity }) => identity),
  );
}

async function agentOfBundle(folder: string): Promise<CalibrationAgent> {
  const policy = await policyOfBundle(folder);
  if (policy.manifest.detector === null)
    throw new InputError(
      `${folder} holds no detector, and the promise is about its verdicts; calibrate the run that it was exported from, and export that again`,
    );
  const { task, state } = policy.manifest;
  const known = tasks[task.name];
  const goldOf = (thread: Thread) =>
    known === undefined ? null : (known.labels[known.goldLabel(thread) ?? -1] ?? null);
  const maxJudged = (state.queryPlan ?? state).maxPosts;
  return {
    name: folder,
    goldOf,
    isKnown: await knownBy(folder, policy),
    read: (whole) =>
      Promise.all(
        whole.map(async (each) => {
          const thread = shownPart(each, state.maxPosts);
          const { posts } = thread;
          const labels = new Map<number, string | null>();
          return {
            claim: posts[0].text,
            posts: posts.length,
            stopProbability: await policy.open().read(posts),
            labelAt(length) {
              const seen = Math.min(length, maxJudged);
              if (!labels.has(seen)) labels.set(seen, policy.judge(posts.slice(0, seen))?.label ?? null);
              return labels.get(seen) ?? null;
            },
            confidence: null,
            gold: goldOf(thread),
          };
        }),
      ),
    keep: (promise) => promiseInBundle(folder, promise),
  };
}
