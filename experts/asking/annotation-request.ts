import type { Prefix } from '../../src/data/thread.ts';
import type { AnnotationRequest } from '../annotations/annotation-row.ts';
import type { Detector } from '../detector.ts';

/** The question that a detector is asked about a prefix, as the store knows it. */
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
