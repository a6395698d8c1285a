import { type BadItem, formatBadItem } from '../../src/data/bad-item.ts';

const shown = 5;

/** Collects what a reader leaves out; the first few are shown on stderr as they come, the others counted. */
export function collectSkipped(): { onSkipped: (item: BadItem) => void; count: () => number; report: () => void } {
  let count = 0;
  return {
    onSkipped(item) {
      count++;
      if (count <= shown) process.stderr.write(`skipped ${formatBadItem(item)}\n`);
    },
    count: () => count,
    report() {
      if (count > shown) process.stderr.write(`skipped ${count - shown} more\n`);
    },
  };
}
