/**
 * What a person can do about an error that ONNX Runtime threw while a graph ran on a GPU.
 * @param message ONNX Runtime's own, whose first line begins with a place in its sources
 */
export function deviceFailure(message: string): string {
  const reason = message.split('\n')[0].replace(/^.*?\.(cc|cpp|h):\d+ /, '');
  return /out of memory|allocat|exceeds .*(limit|size)|larger than .*limit|max(Storage)?Buffer(Binding)?Size/i.test(
    message,
  )
    ? `the GPU has too little memory (${reason}). Use --set backend=onnx.`
    : `the GPU failed during a run (${reason}). Give the same command again: it resumes from the last checkpoint. If it fails again, use --set backend=onnx.`;
}
