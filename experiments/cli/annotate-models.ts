import type { AnnotateResult } from '../../experts/annotate.ts';
import { usageSummary } from '../../experts/llm/budget.ts';
import { dryRunSummary } from '../../experts/llm/dry-run-chat-service.ts';
import { ProviderError } from '../../src/errors.ts';
import type { AnnotatedWithModels } from '../judging/annotate-with-models.ts';
import type { Terminal } from './terminal.ts';

/** Failures named one by one; the others are counted. */
const failuresShown = 5;

/** Prints what a language-model detector judged and what that took; what could not be judged ends in an error. */
export function printAnnotated(
  { stopped, estimates, usage, failures, ...counts }: AnnotatedWithModels,
  { store, detector, json, terminal }: { store: string; detector: string; json?: boolean; terminal: Terminal },
): void {
  const { stdout, stderr } = terminal;
  const { threads, asked, cached, failed, remaining } = counts;
  const total = asked + cached + failed + remaining;
  if (estimates !== null) {
    const summary = `${threads} threads, ${total} prefixes: ${asked} to ask about, ${cached} cached\n${dryRunSummary(estimates)}\nNothing was sent.\n`;
    stdout.write(
      json
        ? `${JSON.stringify({ store, detector, dryRun: true, threads, toAsk: asked, cached, estimates })}\n`
        : summary,
    );
    return;
  }
  if (json)
    stdout.write(
      `${JSON.stringify({ store, detector, ...counts, stopped: stopped?.message ?? null, usage, failures })}\n`,
    );
  else {
    const left = remaining > 0 ? `, not asked ${remaining}` : '';
    stdout.write(
      `${threads} threads, ${total} prefixes: asked ${asked}, cached ${cached}, failed ${failed}${left}\n` +
        `${usageSummary(usage)}\nAnnotations: ${store}\n`,
    );
  }
  if (stopped !== null)
    throw new ProviderError(
      remaining > 0 ? `${stopped.message} (${remaining} of ${total} prefixes remain)` : stopped.message,
    );
  if (failed === 0) return;
  const [first, ...others] = unlikeFailures(failures);
  for (const { threadId, prefixLength, message } of others.slice(0, failuresShown))
    stderr.write(`thread ${threadId}, first ${prefixLength} posts: ${message}\n`);
  throw new ProviderError(
    `${failures.length} prefixes could not be judged, such as the first ${first.prefixLength} posts of thread ${first.threadId}: ` +
      `${first.message}. Give the same command again to ask about them once more`,
  );
}

/** One failure of each kind; messages that differ in numbers alone are of one kind. */
function unlikeFailures(failures: AnnotateResult['failures']): AnnotateResult['failures'][number][] {
  const kinds = new Map<string, AnnotateResult['failures'][number]>();
  for (const failure of failures) {
    const kind = failure.message.replace(/\d+/g, '#');
    if (!kinds.has(kind)) kinds.set(kind, failure);
  }
  return [...kinds.values()];
}
