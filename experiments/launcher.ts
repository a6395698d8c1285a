import { fileURLToPath } from 'node:url';

/** The program that a process of ours runs: this one. */
export const launcher = fileURLToPath(new URL('./cli/earshot.mjs', import.meta.url));
