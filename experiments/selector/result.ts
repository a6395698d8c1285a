import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { resultFile } from '../run/run-file.ts';
import { type SelectorDecision, selectorDecisionSchema, selectorSystems } from './decisions.ts';
import { keptModels } from './kept-models.ts';
import { selectionRoomSchema } from './room.ts';
import { testScoresJson } from './scores.ts';

/** `result.json`: the facts of a run that do not follow from its decisions. */
export const selectorResult = resultFile(4, {
  seed: z.int(),
  claims: z
    .strictObject({
      labelled: z.number(),
      unlabelled: z.number(),
      posts: z.number(),
      leftOut: z
        .strictObject({ sameThread: z.number(), sameEvent: z.number(), nearDuplicate: z.number() })
        .describe('training threads that the tests have, too, or whose event, or nearly whose claim'),
    })
    .describe('trained on; means over the folds, where events were held out in turn'),
  room: selectionRoomSchema.nullable().default(null),
  epochs: z.number(),
  isTerminated: z.boolean().describe('whether the run of full rewards ended the training'),
  lastEpoch: z.record(z.string(), z.number()).describe('the metrics of the last epoch'),
  tests: z.array(z.string()).describe('test sets, in the order of the tables'),
  systems: z.array(z.enum(selectorSystems)).describe('in the order of the tables'),
  folds: z
    .array(z.strictObject({ name: z.string(), events: z.array(z.string()), run: z.string().describe('its folder') }))
    .describe('events that were held out in turn, each with a run of its own; empty where there was one training'),
});
export type StoredSelectorResult = ReturnType<typeof selectorResult.read>;

export interface SelectorResult extends StoredSelectorResult {
  readonly directory: string;
  readonly decisions: readonly SelectorDecision[];
}

export function readSelectorResult(run: RunDirectory): SelectorResult {
  const decisions = readDecisions(run.path, selectorDecisionSchema);
  return { ...selectorResult.read(run), directory: run.path, decisions };
}

/** The decisions of a system by test set. */
export function decisionsByTest(
  { tests, decisions }: Pick<SelectorResult, 'tests' | 'decisions'>,
  { system, part }: Pick<SelectorDecision, 'system' | 'part'>,
): Map<string, SelectorDecision[]> {
  const ofSystem = decisions.filter((each) => each.system === system && each.part === part);
  return new Map(tests.map((test) => [test, ofSystem.filter(({ place }) => place.test === test)]));
}

export function selectorJson(read: SelectorResult): unknown {
  const { systems, decisions, directory: _, tests: __, ...result } = read;
  const scores = (system: string, part: SelectorDecision['part']) =>
    Object.fromEntries(
      Array.from(decisionsByTest(read, { system, part }), ([test, ofTest]) => [test, testScoresJson(ofTest)]),
    );
  return {
    ...result,
    systems: systems.map((name) => ({
      name,
      tests: scores(name, 'test'),
      heldOut: scores(name, 'development'),
      kept: keptModels(decisions, name),
    })),
  };
}
