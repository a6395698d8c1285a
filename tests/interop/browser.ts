import { type Browser, chromium } from 'playwright-core';
import { installed } from './serving.ts';

/** Debian's Chromium, or the one that EARSHOT_CHROMIUM names. */
export function launchedChromium(): Promise<Browser> {
  if (process.env.EARSHOT_CHROMIUM === undefined) installed('chromium', 'chromium');
  return chromium.launch({
    executablePath: process.env.EARSHOT_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
}
