// Compiles the sources to JavaScript and types in dist/, which is what the published package runs.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));
rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
// What the sources read beside themselves: folders, and files that are not TypeScript.
for (const folder of ['experts', 'checkpoints'])
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: (path) => !path.endsWith('.ts') });
// The style and the scripts that report pages carry.
cpSync('experiments/report/page', 'dist/experiments/report/page', {
  recursive: true,
  filter: (path) => !path.endsWith('.ts') && !path.endsWith('tsconfig.json'),
});
cpSync('experiments/cli/earshot.mjs', 'dist/experiments/cli/earshot.mjs');
