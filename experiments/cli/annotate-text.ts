import { text as wholeText } from 'node:stream/consumers';
import { dryRunSummary } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { usageSummary } from '../../experts/llm/cost/usage.ts';
import { InputError } from '../../src/errors.ts';
import { openJudge } from '../judging/judge.ts';
import { judgeText } from '../judging/judge-text.ts';
import { judgementOf } from './print-annotated.ts';
import { watched } from './progress.ts';
import { type BudgetFlags, budgetOf, maxWaitMsOf } from './shared-options.ts';
import { hasScreen, printResult, type Terminal } from './terminal.ts';

/** Judges the text of standard input, and prints the label, the reason and what that took. */
export async function annotateText(
  options: BudgetFlags & {
    detector: string;
    store?: string;
    dryRun?: boolean;
    retryUnreadable?: boolean;
    json?: boolean;
    terminal: Terminal;
  },
): Promise<void> {
  const { detector, dryRun = false, json, terminal } = options;
  if (hasScreen(terminal)) terminal.stderr.write('earshot: reads the text from standard input; Ctrl-D ends it\n');
  const text = (await wholeText(terminal.stdin)).trim();
  if (text === '')
    throw new InputError(
      `standard input holds no text; give one, as in: echo "…" | earshot annotate - --detector ${detector}`,
    );
  const judge = await openJudge(detector);
  const judged = await watched('text', terminal, (context) =>
    judgeText({
      ...options,
      judge,
      text,
      mode: dryRun ? 'dry-run' : 'live',
      budget: budgetOf(options),
      context: { ...context, maxWaitMs: maxWaitMsOf(options) },
    }),
  );
  const { usage, estimates } = judged;
  if (estimates !== null)
    return printResult(terminal, {
      json,
      value: { detector, dryRun, estimates },
      text: `${dryRunSummary(estimates)}\nNothing was sent.\n`,
    });
  const judgement = judgementOf(judged, { terminal });
  const { label, probabilities, explanation } = judgement;
  const shares = Object.entries(probabilities ?? {}).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const cost = usage.length > 0 ? usageSummary(usage) : 'nothing was sent';
  printResult(terminal, {
    json,
    value: { detector, ...judgement, sent: usage },
    text: [
      `Label: ${label ?? 'none'}${shares.length > 0 ? ` (${shares.join(', ')})` : ''}`,
      ...(explanation === '' ? [] : [`Reason: ${explanation}`]),
      `Cost: ${cost}`,
      '',
    ].join('\n'),
  });
}
