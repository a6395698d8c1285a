/** True for a detector file, false for a saved detector. */
export function isDetectorFile(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}
