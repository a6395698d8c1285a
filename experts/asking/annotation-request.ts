import type { Prefix } from '../../src/data/thread.ts';
import type { AnnotationRequest } from '../annotations/annotation-row.ts';
import type { Detector } from '../detector.ts';

/** The request for a detector's judgement of a prefix, from which the store makes its key. */
export function annotationRequest(options: {
  detector: Detector;
  prefix: Prefix;
  sampleIndex?: number;
}): AnnotationRequest {
  const { detector, prefix, sampleIndex = 0 } = options;
  const { name, version, options: relevant } = detector;
  const input = detector.inputOf ? detector.inputOf(prefix) : prefix.posts.map(({ text }) => text);
  return { detector: name, version, options: relevant, input, sampleIndex };
}
