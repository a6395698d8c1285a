// Makes the site of this folder (`npm run docs`), or serves it while pages are edited (`npm run docs:dev`). What that needs is
// installed here, not with the program.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('.', import.meta.url));
const installed = `${docs}node_modules/.package-lock.json`;

/** When a file was last written; 0 for one that does not exist. */
const writtenMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// npm writes its own list of what it installed at the end, so an install that was cut short counts as none.
if (writtenMs(installed) < writtenMs(`${docs}package-lock.json`))
  execFileSync('npm', ['ci', '--prefix', docs], { stdio: 'inherit', shell: process.platform === 'win32' });
execFileSync(process.execPath, [`${docs}node_modules/vitepress/bin/vitepress.js`, process.argv[2] ?? 'build', docs], {
  stdio: 'inherit',
});
