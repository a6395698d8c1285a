/** Whether a path names a detector file, and not a detector that was trained here. */
export function isDetectorFile(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}
