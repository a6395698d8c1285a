import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { temporaryFolder } from './data/fixtures.ts';

it('writes and replaces text and bytes, and leaves nothing beside them', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'file');
  writeFileAtomically(path, 'größer');
  expect(readFileSync(path, 'utf8')).toBe('größer');
  writeFileAtomically(path, new Uint8Array([0, 255, 7]));
  expect([...readFileSync(path)]).toEqual([0, 255, 7]);
  expect(readdirSync(folder)).toEqual(['file']);
});

it('writes through a symbolic link instead of replacing it', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(join(folder, 'elsewhere', 'target'), 'old');
  symlinkSync(join(folder, 'elsewhere', 'target'), join(folder, 'link'));
  writeFileAtomically(join(folder, 'link'), 'new');
  expect(readFileSync(join(folder, 'elsewhere', 'target'), 'utf8')).toBe('new');
});

// A limit on file size fails as a filling disk does: the first write is taken in part, only the next one is refused.
it.skipIf(process.platform === 'win32')(
  'keeps the previous file whole when the disk takes only a part of the new one',
  () => {
    const folder = temporaryFolder();
    const path = join(folder, 'result.json');
    writeFileAtomically(path, 'previous');
    const script = `
    import { writeFileAtomically } from ${JSON.stringify(new URL('../../src/atomic-file.ts', import.meta.url).href)};
    try {
      writeFileAtomically(process.argv[1], 'x'.repeat(5000));
    } catch (error) {
      console.log(error.name + ': ' + error.message);
    }`;
    const child = spawnSync(
      'bash',
      [
        '-c',
        'ulimit -f 1 && exec "$@"',
        'bash',
        process.execPath,
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        script,
        path,
      ],
      { encoding: 'utf8', env: { ...process.env, TSX_DISABLE_CACHE: '1', NODE_OPTIONS: '' } },
    );
    expect(child.stdout, child.stderr).toBe(
      `InputError: cannot write 5000 bytes to ${path} (EFBIG): the file would be larger than this system allows (see \`ulimit -f\`); raise the limit or choose another disk\n`,
    );
    expect(readFileSync(path, 'utf8')).toBe('previous');
    expect(readdirSync(folder)).toEqual(['result.json']);
  },
);

it('makes the folder where it is missing', () => {
  const path = join(temporaryFolder(), 'missing', 'too', 'file');
  writeFileAtomically(path, 'abc');
  expect(readFileSync(path, 'utf8')).toBe('abc');
});

it('says what to do where the path runs through a file', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  expect(() => writeFileAtomically(join(folder, 'file', 'below'), 'abc')).toThrow(
    /ENOTDIR.*part of its path is a file/,
  );
});

it('leaves a folder in its place and no temporary file when a folder stands where the file should go', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'taken'));
  expect(() => writeFileAtomically(join(folder, 'taken'), 'abc')).toThrow(/EISDIR.*it is a folder/);
  expect(readdirSync(folder)).toEqual(['taken']);
});

// Permissions do not stop root, but the kernel's own folder stops everyone.
it.skipIf(process.platform !== 'linux')('says what to do where writing is forbidden', () => {
  let folder = '/sys';
  if (process.getuid?.() !== 0) {
    folder = temporaryFolder();
    chmodSync(folder, 0o555);
  }
  expect(() => writeFileAtomically(join(folder, 'earshot'), 'abc')).toThrow(
    /^cannot write 3 bytes to .*earshot \((EACCES|EPERM|EROFS)\): .*(change the permissions|can be written)/,
  );
});
