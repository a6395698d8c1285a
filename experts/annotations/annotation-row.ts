import { z } from 'zod';
import { sha256 } from '../../src/content-hash.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { type Detector, judgementSchema } from '../detector.ts';

export const annotationRequestSchema = z.object({
  detector: z.string().min(1),
  version: z.string(),
  options: z.record(z.string(), z.unknown()).describe('everything else that can change the answer'),
  input: z.unknown().describe('what of the prefix the detector reads, by default the texts of its posts in order'),
  sampleIndex: z.int().nonnegative().describe('0; 1, 2, … for further samples in stores of earlier versions'),
});

export const annotationRowSchema = z.object({
  request: annotationRequestSchema,
  rawResponse: z.string().nullable(),
  judgement: judgementSchema,
  latencyMs: z.number().nonnegative().nullable(),
  threadId: z.string(),
  prefixLength: z.number().int().positive(),
});

/** Everything that could change a judgement. Requests with equal canonical JSON are the same question. */
export type AnnotationRequest = z.infer<typeof annotationRequestSchema>;

/** A stored judgement with its request. Thread id and prefix length are for people and not part of the key. */
export type AnnotationRow = z.infer<typeof annotationRowSchema>;

/** SHA-256, in hexadecimal, of the request's canonical JSON. */
export function keyOf(request: AnnotationRequest): string {
  const { detector, version, options, input, sampleIndex } = request;
  return sha256({ detector, version, options, input, sampleIndex });
}

/** The request for a detector's judgement of a prefix, from which the store makes its key. */
export function annotationRequest({ detector, prefix }: { detector: Detector; prefix: Prefix }): AnnotationRequest {
  const { name, version, options } = detector;
  const input = detector.inputOf ? detector.inputOf(prefix) : prefix.posts.map(({ text }) => text);
  return { detector: name, version, options, input, sampleIndex: 0 };
}
