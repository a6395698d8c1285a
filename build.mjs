// Compiles the sources to JavaScript and types in dist/, which is what the published package runs.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

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

await buildPolicyPackage('dist/policy-package');

// The reader of exported policies as a package of its own: one file.
async function buildPolicyPackage(folder) {
  const entry = 'dist/checkpoints/policy/load-policy';
  await build({
    entryPoints: [`${entry}.js`],
    outfile: `${folder}/index.js`,
    bundle: true,
    minify: true,
    format: 'esm',
  });
  for (const path of typesWithin(`${entry}.d.ts`)) cpSync(path, path.replace('dist/', `${folder}/types/`));
  const { version, license, engines, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const exports = { types: `./types/${entry.replace('dist/', '')}.d.ts`, default: './index.js' };
  const description = 'Reads the stop policies that Earshot exports, in Node and in browsers';
  // Its types alone name zod, which the file has within it.
  const { zod } = dependencies;
  const head = { name: 'earshot-policy', version, description, license, type: 'module' };
  const manifest = { ...head, engines, exports, dependencies: { zod } };
  writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
}

// A file of types and all that it imports.
function typesWithin(path, found = new Set()) {
  if (found.has(path) || !existsSync(path)) return found;
  found.add(path);
  for (const [, imported] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g))
    typesWithin(join(dirname(path), imported.replace(/\.[jt]s$/, '.d.ts')), found);
  return found;
}
