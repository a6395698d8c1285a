import { counted } from '../../src/counted.ts';
import { ProviderError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { type Judged, judgingStopped } from './judge-options.ts';

/**
 * Goes on after judging where an experiment may, and notes what it goes on without.
 * @param options.countAs what a prefix counts as that could not be judged or read
 * @param options.goOn the setting that goes on where prefixes could not be judged; null where it is set
 * @param options.askAgain what asks again where answers could not be read
 * @throws ProviderError where judging stopped before its end, or prefixes could not be judged and that is not set
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
