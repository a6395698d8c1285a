import type { AnnotateResult } from '../../experts/annotate.ts';
import type { Judgement } from '../../experts/detector.ts';
import { dryRunSummary } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { usageSummary } from '../../experts/llm/cost/usage.ts';
import { counted } from '../../src/counted.ts';
import { ProviderError } from '../../src/errors.ts';
import type { AnnotatedThreads } from '../judging/annotate-threads.ts';
import type { JudgedText } from '../judging/judge-text.ts';
import { printResult, type Terminal } from './terminal.ts';

/** How many failures are listed; the others are only counted. */
const failuresShown = 5;

/** Prints the counts of judgements and their costs. @throws an error if a prefix could not be judged */
export function printAnnotated(
  { stopped, estimates, usage, failures, asksModels, ...counts }: AnnotatedThreads,
  { store, detector, json, terminal }: { store: string; detector: string; json?: boolean; terminal: Terminal },
): void {
  const { threads, asked, cached, failed, unreadable, unreadableParts, remaining } = counts;
  const total = asked + cached + failed + remaining;
  if (estimates !== null) {
    printResult(terminal, {
      json,
      value: { store, detector, dryRun: true, threads, toAsk: asked, cached, estimates },
      text: `${threads} threads, ${total} prefixes: ${asked} to ask about, ${cached} cached\n${dryRunSummary(estimates)}\nNothing was sent.\n`,
    });
    return;
  }
  const left = remaining > 0 ? `, not asked ${remaining}` : '';
  const which = unreadable > 0 ? ` (${unreadable} of them unreadable)` : '';
  const parts =
    unreadableParts > 0
      ? `${unreadableParts} votes, scores or probabilities could not be read; the judgements count as made without them\n`
      : '';
  const cost = asksModels ? `${usageSummary(usage)}\n` : '';
  printResult(terminal, {
    json,
    value: { store, detector, ...counts, stopped: stopped?.message ?? null, usage, failures },
    text: `${threads} threads, ${total} prefixes: asked ${asked}, cached ${cached}, failed ${failed}${which}${left}\n${parts}${cost}Annotations: ${store}\n`,
  });
  if (stopped !== null)
    throw new ProviderError(
      remaining > 0
        ? `${stopped.message} (${remaining} of ${total} prefixes remain; what was answered is kept)`
        : stopped.message,
      { cause: stopped },
    );
  if (failed > 0) throw failureOf({ failures, unreadable, terminal });
}

/**
 * The judgement of a text.
 * @param options.consequence ends the sentence about what went wrong
 * @throws ProviderError if there is none
 */
export function judgementOf(
  { judgement, result: { stopped, failures, unreadable } }: JudgedText,
  { terminal, consequence = '' }: { terminal: Terminal; consequence?: string },
): Judgement {
  if (stopped !== null) throw new ProviderError(`${stopped.message}${consequence}`, { cause: stopped });
  if (judgement === null) throw failureOf({ failures, unreadable, terminal, consequence });
  return judgement;
}

/** Reports failures in one sentence. Failures with the same message are reported once. */
function failureOf(of: {
  failures: AnnotateResult['failures'];
  unreadable: number;
  terminal: Terminal;
  consequence?: string;
}): ProviderError {
  const { failures, unreadable, terminal, consequence = '' } = of;
  const kinds = new Map<string, AnnotateResult['failures'][number]>();
  for (const failure of failures) {
    const kind = failure.message.replace(/"(?:[^"\\]|\\.)*"|\d+/g, '#');
    if (!kinds.has(kind)) kinds.set(kind, failure);
  }
  const [first, ...others] = kinds.values();
  for (const { threadId, prefixLength, message } of others.slice(0, failuresShown))
    terminal.stderr.write(`thread ${threadId}, first ${counted(prefixLength, 'post')}: ${message}\n`);
  const isUnread = unreadable === failures.length;
  const again = isUnread
    ? 'Add --retry-unreadable to ask about them once more'
    : `Give the same command again to ask about them once more${unreadable > 0 ? ', with --retry-unreadable about those that could not be read, too' : ''}`;
  return new ProviderError(
    `${failures.length} ${failures.length === 1 ? 'prefix' : 'prefixes'} could not be judged${consequence}${unreadable > 0 ? ` (${counted(unreadable, 'answer')} could not be read)` : ''}, ` +
      `such as the first ${counted(first.prefixLength, 'post')} of thread ${first.threadId}: ${first.message}. ${again}`,
  );
}
