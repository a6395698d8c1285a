import type { Entity } from './entity.ts';

/** What a token classifier said of one token: where it stands and each class's probability. */
export interface ClassifiedToken {
  readonly start: number;
  readonly end: number;
  /** As in the model's configuration: O, B-PER, I-PER, or PER alone. */
  readonly label: string;
  readonly probability: number;
  /** The token goes on with the word of the one before it. */
  readonly continuesWord: boolean;
}

/**
 * Joins consecutive entity tokens; the confidence is the mean over them (Eq. 2). A word is never cut: its later pieces
 * follow its first one, whatever the model says of them, since models are trained on first pieces.
 */
export function aggregateTokens(options: { text: string; tokens: readonly ClassifiedToken[] }): Entity[] {
  const { text, tokens } = options;
  const entities: Entity[] = [];
  let open: { start: number; end: number; type: string; probabilities: number[] } | null = null;
  const close = () => {
    if (open === null) return;
    const { start, end, type, probabilities } = open;
    const confidence = probabilities.reduce((sum, value) => sum + value, 0) / probabilities.length;
    entities.push({ text: text.slice(start, end), start, end, type, confidence });
    open = null;
  };
  for (const token of tokens) {
    const [, position, type] = token.label.match(/^(?:([BIES])-)?(.+)$/) ?? [];
    if (token.continuesWord) {
      if (open === null) continue;
      open.end = token.end;
      if (type === open.type) open.probabilities.push(token.probability);
      continue;
    }
    if (type === undefined || type === 'O') close();
    else if (open !== null && open.type === type && position !== 'B' && position !== 'S') {
      open.end = token.end;
      open.probabilities.push(token.probability);
    } else {
      close();
      open = { start: token.start, end: token.end, type, probabilities: [token.probability] };
    }
  }
  close();
  return entities;
}
