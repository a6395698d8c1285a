import { join } from 'node:path';
import { Command } from 'commander';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import type { MetricInterval } from '../../src/metrics/metric-intervals.ts';
import { quoted } from '../../src/shell-words.ts';
import { detectorName } from '../detectors/decisions.ts';
import { queryAgentName } from '../query-agent/outcomes.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { signed } from '../report/shown-numbers.ts';
import { kindOfRun } from '../run/kind-name.ts';
import { type ComparedSystem, type Paired, runsIn } from '../run/paired-decisions.ts';
import { selectorName } from '../selector/system-names.ts';
import { agentName } from '../stop-agent/decisions.ts';
import { wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';

const defaultSeed = 1;

interface CompareOptions {
  system?: string;
  secondSystem?: string;
  seed: number;
  json?: boolean;
  html?: boolean;
  out: string;
}

export function compareCommand({ stdout, stderr }: Terminal): Command {
  return new Command('compare')
    .description('Compare two systems on the test items that both decided: paired bootstrap of the metrics.')
    .argument('<first>', 'run directory, or a folder of runs with one seed each')
    .argument('<second>', 'the same; runs of one seed are paired with each other')
    .option('--system <name>', `system of the first (default: the one that the runs are about, such as "${agentName}")`)
    .option(
      '--second-system <name>',
      'system of the second, such as "first 4 posts" or random (default: the same as of the first)',
    )
    .option('--seed <number>', 'seed of the bootstrap', wholeNumber, defaultSeed)
    .option('--json', 'print the comparison as JSON')
    .option('--html', 'also write a page with the differences and the items on which they differ')
    .option('--out <file>', 'where the page goes', 'comparison.html')
    .addHelpText(
      'after',
      `
Stop agents are compared by macro-F1, ER and calls of the detector, selectors by macro-F1 and micro-F1 for each test set and task,
detectors by every metric after each number of replies, agents with several detectors by return, macro-F1, ER and cost.
Intervals are over seeds and the threads of each; replies are drawn with their thread.

Examples:
  earshot compare runs/published-vs-paper/paper runs/published-vs-paper/published
  earshot compare runs/quickstart/one-call runs/quickstart/one-call --second-system "first 4 posts"
  earshot compare runs/selector-quickstart/agent runs/selector-quickstart/agent --second-system random
  earshot compare runs/detectors-quickstart/local runs/detectors-quickstart/sentence-encoder
  earshot compare runs/quickstart/one-call runs/quickstart/detector-in-state --html --out comparison.html`,
    )
    .action(async (first: string, second: string, options: CompareOptions) => {
      const kind = kindOfRun(RunDirectory.open(join(first, runsIn(first)[0])));
      const { learnt, compare } = kinds[kind];
      const { system = learnt } = options;
      const compared = [
        { folder: first, system },
        { folder: second, system: options.secondSystem ?? system },
      ] as const;
      const { json, text, page } = await compare(compared, options);
      const heading = `${compared[0].system} of ${first}\nminus ${compared[1].system} of ${second}`;
      stdout.write(options.json ? `${JSON.stringify(json, null, 2)}\n` : `${heading}${text}`);
      if (!options.html) return;
      writeFileAtomically(options.out, await page(commandOf(compared, options)));
      stderr.write(`\nPage: ${options.out}\n`);
    });
}

type Pair = readonly [ComparedSystem, ComparedSystem];

/** The command that shows the comparison again. */
function commandOf(compared: Pair, { seed }: CompareOptions): string {
  const [first, second] = compared;
  const words = [
    'earshot',
    'compare',
    first.folder,
    second.folder,
    '--system',
    first.system,
    '--second-system',
    second.system,
    ...(seed === defaultSeed ? [] : ['--seed', String(seed)]),
  ];
  return words.map(quoted).join(' ');
}

async function agents(compared: Pair, options: { seed: number }) {
  const { compareSystems } = await import('../stop-agent/compare-runs.ts');
  const { threads, seeds, metrics, pairs, labels } = compareSystems(...compared, options);
  const name = (label: number) => labels[label] ?? 'not readable';
  const differing = pairs
    .filter(({ left, right }) => left.predicted !== right.predicted)
    .map(({ left, right }) => [
      left.threadId,
      name(left.gold),
      ...[left, right].map(({ predicted, postsUsed }) => `${name(predicted)}, post ${postsUsed} of ${left.posts}`),
    ]);
  const place = { title: 'At the stop', heading: '', of: {}, items: threads, seeds, metrics, differing };
  return {
    json: { threads, seeds, ...byName(metrics) },
    text: `, ${counted(threads, 'decision')} paired, of ${counted(seeds, 'seed')}\n\n${lines(metrics)}`,
    page: atPlaces([place], { compared, areSystemsNamed: true }).page,
  };
}

async function selectors(compared: Pair, options: { seed: number }) {
  const [{ compareSelectorSystems }, { taskClasses }] = await Promise.all([
    import('../selector/scores.ts'),
    import('../selector/decisions.ts'),
  ]);
  const places = compareSelectorSystems(...compared, options).map(({ test, task, pairs, ...own }): Place => {
    const classes = taskClasses[task];
    const differing = pairs.map(({ left, right }) => [
      left.id,
      classes[left.gold],
      classes[left.predicted],
      classes[right.predicted],
    ]);
    const title = `${test}: ${task}`;
    return { ...own, of: { test, task }, title, heading: title, differing: onlyDiffering(differing) };
  });
  return atPlaces(places, { compared, areSystemsNamed: true });
}

async function detectors(compared: Pair, options: { seed: number }) {
  const [{ compareDetectors }, { repliesInWords }] = await Promise.all([
    import('../detectors/compare.ts'),
    import('../detectors/decisions.ts'),
  ]);
  const places = compareDetectors(...compared, options).map(({ replies, pairs, ...own }): Place => {
    const differing = onlyDiffering(pairs.map(answersOf));
    const seen = repliesInWords(replies);
    const names = { title: `After ${seen}`, heading: `after ${seen}` };
    return { ...own, ...names, of: { replies }, differing };
  });
  return atPlaces(places, { compared, areSystemsNamed: false });
}

/** An item on which two systems may differ: its id, what it is, and both answers. */
function answersOf({ left, right }: Paired<{ threadId: string; gold: string; predicted: string | null }>) {
  return [left.threadId, left.gold, left.predicted ?? 'no answer', right.predicted ?? 'no answer'];
}

function onlyDiffering(items: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return items.filter(([, , first, second]) => first !== second);
}

interface Place extends ComparedPlace {
  /** What text calls it. */
  readonly heading: string;
  /** What tells it apart, in JSON. */
  readonly of: Readonly<Record<string, string | number>>;
  readonly seeds: number;
  readonly metrics: Differences;
}

/** @param options.areSystemsNamed folders alone tell detectors apart */
function atPlaces(places: readonly Place[], options: { compared: Pair; areSystemsNamed: boolean }) {
  const { compared, areSystemsNamed } = options;
  const [first, second] = compared;
  const sections = places.map(
    ({ heading, items, seeds, metrics }) =>
      `\n${heading}, ${counted(items, 'decision')} paired, of ${counted(seeds, 'seed')}\n${lines(metrics)}`,
  );
  return {
    json: places.map(({ of, items, seeds, metrics }) => ({ ...of, items, seeds, ...byName(metrics) })),
    text: `\n${sections.join('')}`,
    async page(command: string) {
      const [{ comparisonPage }, { html }] = await Promise.all([
        import('../report/page/comparison-page.ts'),
        import('../report/page/html.ts'),
      ]);
      const name = ({ system, folder }: ComparedSystem) =>
        areSystemsNamed ? html`<b>${system}</b> of <code>${folder}</code>` : html`<code>${folder}</code>`;
      const [title, otherTitle] = compared.map(({ system, folder }) => (areSystemsNamed ? system : folder));
      return comparisonPage({
        title: `${title} against ${otherTitle}`,
        introduction: html`<p>${name(first)}, minus ${name(second)}</p>`,
        command,
        places,
      });
    },
  };
}

async function queryAgents(compared: Pair, options: { seed: number }) {
  const { compareQuerySystems } = await import('../query-agent/compare.ts');
  const { pairs, threads, ...own } = compareQuerySystems(...compared, options);
  const differing = onlyDiffering(pairs.map(answersOf));
  const heading = 'at the stop';
  const place = { ...own, heading, title: 'At the stop', of: {}, items: threads, differing };
  return atPlaces([place], { compared, areSystemsNamed: true });
}

const kinds = {
  'stop-agent': { learnt: agentName, compare: agents },
  selector: { learnt: selectorName, compare: selectors },
  detectors: { learnt: detectorName, compare: detectors },
  'several-detectors': { learnt: queryAgentName, compare: queryAgents },
};

type Differences = readonly MetricInterval[];

function byName(metrics: Differences) {
  return Object.fromEntries(
    metrics.map(({ name, title: _, estimate, ...interval }) => [name, { difference: estimate, ...interval }]),
  );
}

function lines(metrics: Differences): string {
  const width = Math.max(...metrics.map(({ title }) => title.length));
  return metrics
    .map(
      ({ title, estimate, low, high, pValue }) =>
        `${title.padEnd(width)}  ${signed(estimate, 4)}  95 % [${signed(low, 4)}, ${signed(high, 4)}]  p = ${pValue.toFixed(4)}\n`,
    )
    .join('');
}
