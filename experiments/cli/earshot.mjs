#!/usr/bin/env node
// In a checkout the TypeScript sources run as they are: no build step between an edit and a run. The published package has
// no sources, and its compiled files run.
import { existsSync } from 'node:fs';

const folder = ['./', '../../dist/experiments/cli/'].find((path) =>
  ['main.ts', 'main.js'].some((name) => existsSync(new URL(`${path}${name}`, import.meta.url))),
);
const isCheckout = existsSync(new URL('./main.ts', import.meta.url));
if (isCheckout) (await import('tsx/esm/api')).register();
const extension = isCheckout ? 'ts' : 'js';
const { runCommandLine } = await import(`${folder}main.${extension}`);
const { processTerminal } = await import(`${folder}terminal.${extension}`);
process.exitCode = await runCommandLine(processTerminal());
