#!/usr/bin/env node
// Runs the TypeScript sources as they are: no build step between an edit and a run.
import { register } from 'tsx/esm/api';

register();
const { runCommandLine } = await import('./main.ts');
const { processTerminal } = await import('./terminal.ts');
process.exitCode = await runCommandLine(processTerminal());
