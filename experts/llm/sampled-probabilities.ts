import { InputError } from '../../src/errors.ts';
import type { ChatAnswer, ChatRequest, ChatService } from './chat.ts';

/**
 * The share of each label among several answers. `addHalf` adds half an answer to each label (the Jeffreys prior), so
 * that three equal samples do not mean certainty. Unreadable answers (null) count for none; null when all are.
 */
export function sampledProbabilities(options: {
  labels: readonly string[];
  answers: readonly (string | null)[];
  addHalf?: boolean;
}): Record<string, number> | null {
  const { labels, answers, addHalf = false } = options;
  const readable = answers.filter((answer): answer is string => answer !== null);
  const stranger = readable.find((answer) => !labels.includes(answer));
  if (stranger !== undefined)
    throw new InputError(`sampled answer ${JSON.stringify(stranger)} is none of the labels ${labels.join(', ')}`);
  if (readable.length === 0) return null;
  const extra = addHalf ? 0.5 : 0;
  const total = readable.length + extra * labels.length;
  const countOf = (label: string) => readable.filter((answer) => answer === label).length;
  return Object.fromEntries(labels.map((label) => [label, (countOf(label) + extra) / total]));
}

/** Asks the same question several times at once, as samples 0, 1, …; the answers are in that order. */
export async function sampleAnswers(options: {
  service: ChatService;
  request: ChatRequest;
  samples: number;
}): Promise<ChatAnswer[]> {
  const { service, request, samples } = options;
  if (!Number.isInteger(samples) || samples < 1)
    throw new InputError(`samples is ${samples}; it must be a whole number of at least 1`);
  const temperature = request.temperature === undefined ? request.endpoint.temperature : request.temperature;
  if (samples > 1 && temperature === 0)
    throw new InputError(
      `endpoint ${request.endpoint.name}: ${samples} samples at temperature 0 are one answer ${samples} times; ` +
        'set a temperature above 0, or ask for log-probabilities',
    );
  const first = request.sampleIndex ?? 0;
  return Promise.all(
    Array.from({ length: samples }, (_, index) => service.chat({ ...request, sampleIndex: first * samples + index })),
  );
}
