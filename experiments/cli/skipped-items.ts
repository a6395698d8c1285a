import { type BadItem, formatBadItem } from '../../src/data/bad-item.ts';
import type { Terminal } from './terminal.ts';

const shown = 5;

/** Collects what a reader leaves out; the first few are shown on stderr as they come, the others counted. */
export function collectSkipped({ stderr }: Terminal): {
  onSkipped: (item: BadItem) => void;
  count: () => number;
  report: () => void;
} {
  let count = 0;
  return {
    onSkipped(item) {
      count++;
      if (count <= shown) stderr.write(`skipped ${formatBadItem(item)}\n`);
    },
    count: () => count,
    report() {
      if (count > shown) stderr.write(`skipped ${count - shown} more\n`);
    },
  };
}
