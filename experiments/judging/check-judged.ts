import { counted } from '../../src/counted.ts';
import { ProviderError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { type Judged, judgingStopped } from './judge-options.ts';

/**
 * Continues after judging if the experiment permits it, and notes the missing judgements.
 * @param options.countAs the stand-in for a missing judgement
 * @param options.goOn the setting that permits failures; null if it is set
 * @param options.askAgain the way to ask again for unreadable answers
 * @throws ProviderError if judging stopped early, or failures are not permitted
 */
export function checkJudged(
  { result, usage }: Pick<Judged, 'result' | 'usage'>,
  options: { countAs: string; goOn: string | null; askAgain: string; onNote: WorkContext['onNote'] },
): void {
  const { countAs, goOn, askAgain, onNote } = options;
  const { stopped, remaining, asked, cached, failed, unreadable, unreadableParts, failures } = result;
  if (stopped !== null) throw judgingStopped(stopped, { remaining, usage });
  const of = `of ${asked + cached + failed} prefixes`;
  const [first] = failures.filter(({ isUnreadable }) => !isUnreadable);
  const unjudged = failed - unreadable;
  if (unjudged > 0 && goOn !== null)
    throw new ProviderError(
      `${unjudged} ${of} could not be judged (the first: thread ${first.threadId}, ${first.prefixLength} posts: ${first.message}); give the same command again to ask for them once more, or set ${goOn} to count them as ${countAs}`,
    );
  if (unjudged > 0) onNote(`${unjudged} ${of} could not be judged and count as ${countAs}`);
  if (unreadableParts > 0)
    onNote(
      `${counted(unreadableParts, 'answer')} that judgements do without (votes, scores, log-probabilities) could not be read`,
    );
  // Asking again is for the user to decide, since it costs and may not help.
  if (unreadable > 0)
    onNote(
      `answers about ${unreadable} ${of} could not be read and count as ${countAs}; ${askAgain} asks for them again`,
    );
}
