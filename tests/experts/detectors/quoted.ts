/** The lines that a prompt quotes under a heading; empty where it quotes none. */
export function quotedIn(prompt: string, heading: string): string[] {
  const start = prompt.split('\n').findIndex((line) => line.startsWith(`${heading} (quoted evidence`));
  const lines = prompt.split('\n').slice(start + 2);
  return start < 0 ? [] : lines.slice(0, lines.indexOf('</evidence>'));
}
