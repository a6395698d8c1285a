#!/usr/bin/env node
// Runs the TypeScript sources as they are: no build step between an edit and a run.
import { register } from 'tsx/esm/api';

register();
await import('./main.ts');
