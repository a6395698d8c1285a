import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../experiments/cli/earshot.mjs');

/** Runs the command line with this standard output, closed at once where it is a pipe. */
async function ended(stdout: 'pipe' | number): Promise<{ code: number | null; errors: string }> {
  const child = spawn(process.execPath, [launcher, 'options', 'stop-agent'], { stdio: ['ignore', stdout, 'pipe'] });
  child.stdout?.destroy();
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, errors };
}

it('ends without a word when nobody reads its output any more, as in a pipe to head', async () => {
  expect(await ended('pipe')).toEqual({ code: 141, errors: '' });
});

it('says why its output cannot be written', async () => {
  expect(await ended(openSync('/dev/full', 'w'))).toEqual({
    code: 1,
    errors:
      'earshot: cannot write standard output (ENOSPC): the disk is full; free some space or choose a folder on another disk\n',
  });
});
