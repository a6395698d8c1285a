/** With more posts without times, the detector reads texts alone. */
const mostWithoutTime = 0.1;
/** Times help a detector of 100 training threads, less one of 350, and hardly one of 400 (experiments/results/cross-fitting.md). */
const mostTimedThreads = 400;

export function readsTimes(of: { labelled: number; posts: number; postsWithoutTime: number }): boolean {
  return of.labelled <= mostTimedThreads && of.postsWithoutTime <= mostWithoutTime * of.posts;
}
