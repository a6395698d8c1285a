import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gitState } from '../../checkpoints/run-record.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

/** A checkout with sources, results and a page, all committed. */
function checkout(): string {
  const home = temporaryFolder();
  const files = ['src/tensor.ts', 'index.ts', 'experiments/results/table.csv', 'docs/index.md', 'tests/tensor.test.ts'];
  for (const file of files) {
    mkdirSync(join(home, file, '..'), { recursive: true });
    writeFileSync(join(home, file), 'as committed\n');
  }
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', home, '-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words]);
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'begin');
  return home;
}

it.each([
  ['posts.csv', false],
  ['src/my-notes.ts', false],
  ['experiments/results/table.csv', false],
  ['docs/index.md', false],
  ['tests/tensor.test.ts', false],
  ['src/tensor.ts', true],
  ['index.ts', true],
])('another %s is a change of the program: %s', (file, dirty) => {
  const home = checkout();
  expect(gitState(home)).toEqual({ commit: expect.stringMatching(/^[0-9a-f]{40}$/), dirty: false });
  writeFileSync(join(home, file), 'other\n');
  expect(gitState(home)).toMatchObject({ dirty });
});

it('knows no commit within somebody else’s repository', () => {
  const home = checkout();
  expect(gitState(join(home, 'src'))).toBeNull();
});
