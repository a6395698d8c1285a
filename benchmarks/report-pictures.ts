import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

/*
 * The pictures of the README, from the page of the quickstart: the front as SVG, the inspector as PNG. Needs Debian's chromium,
 * or another one named by EARSHOT_CHROMIUM.
 *
 *   npm run demo
 *   node --import tsx benchmarks/report-pictures.ts runs/quickstart
 */

const [folder = 'runs/quickstart', out = 'docs/pictures'] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
copyFileSync(join(folder, 'report-pictures/front.svg'), join(out, 'front.svg'));

const executablePath = process.env.EARSHOT_CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1160, height: 700 }, colorScheme: 'light' });
await page.goto(pathToFileURL(join(folder, 'report.html')).href);
// A thread on which the systems disagree shows more than one on which all are right.
await page.getByRole('combobox', { name: 'Sort' }).selectOption('most disagreement first');
await page.locator('.list button').first().click();
await page.evaluate('document.activeElement.blur()');
await page.locator('.panes').screenshot({ path: join(out, 'inspector.png') });
await browser.close();
