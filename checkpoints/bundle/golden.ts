import * as z from 'zod/mini';
import { InputError } from '../../src/errors.ts';
import { bundleFiles } from './manifest.ts';
import { stopThreshold } from './promise.ts';

/** Largest difference in π(stop) that is put down to rounding: of a reader from the golden threads, of the ONNX file. */
export const tolerance = 1e-5;

/** A golden thread: decided at the export by the checkpoint itself. Whoever loads a bundle decides it again. */
export const goldenSchema = z.object({
  threadId: z.string(),
  texts: z.array(z.string()),
  /** Of the posts, ISO 8601; only in bundles that read them. */
  times: z.optional(z.array(z.nullable(z.string()))),
  /** 32-bit floats, little-endian, base64; [posts, columns]. */
  states: z.string(),
  stopProbability: z.array(z.number()),
  stopStep: z.int(),
  /** What the detector said where it was queried, if the agent is detector-aware; `probabilities` in the order of the task's labels. */
  judgements: z.optional(
    z.array(
      z.object({ posts: z.int(), label: z.nullable(z.string()), probabilities: z.nullable(z.array(z.number())) }),
    ),
  ),
});
export type Golden = z.infer<typeof goldenSchema>;

/** The same up to the stop: as far as the decision of a detector-aware agent tells. */
export function untilStop(golden: Golden): Golden {
  return { ...golden, stopProbability: golden.stopProbability.slice(0, golden.stopStep + 1) };
}

/** The decision rule: the first post at which π(stop) exceeds the threshold, one half unless given, else the last. */
export function firstStop(
  stopProbability: Float32Array,
  threshold = stopThreshold(null),
): { stopStep: number; stopped: boolean } {
  const first = stopProbability.findIndex((probability) => probability > threshold);
  return first < 0 ? { stopStep: stopProbability.length - 1, stopped: false } : { stopStep: first, stopped: true };
}

/** Whether the stop hinges on rounding: a probability up to it is as good as one half. Such a thread proves nothing. */
export function isTied(stopProbability: Float32Array): boolean {
  const { stopStep } = firstStop(stopProbability);
  return stopProbability.subarray(0, stopStep + 1).some((probability) => Math.abs(probability - 0.5) <= tolerance);
}

/** @throws InputError that names the thread and the post at which π(stop) or the decision differs */
export function checkGolden({ threadId, stopProbability, stopStep }: Golden, found: Float32Array): void {
  const different = stopProbability.findIndex((expected, step) => !(Math.abs(found[step] - expected) <= tolerance));
  if (found.length !== stopProbability.length || different >= 0)
    throw new InputError(
      `the golden thread ${threadId} is decided differently here: π(stop) at post ${different + 1} is ${found[different]}, and ${stopProbability[different]} in ${bundleFiles.golden}; another version of Unicode or of Earshot reads its text differently`,
    );
  if (firstStop(found).stopStep !== stopStep)
    throw new InputError(
      `the golden thread ${threadId} is decided differently here: stop at post ${firstStop(found).stopStep + 1}, and ${stopStep + 1} in ${bundleFiles.golden}`,
    );
}
