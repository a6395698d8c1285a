import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Command, Option } from 'commander';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import { formatBadItem } from '../../src/data/bad-item.ts';
import { tasks } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import { isPlainObject } from '../config/overrides.ts';
import { explanations } from '../init/explanations.ts';
import { fittingParts, foundIn } from '../init/found-threads.ts';
import { type Goal, goals } from '../init/goals.ts';
import { wrapped } from '../report/narrow-table.ts';
import type { Experiment } from '../stop-agent/experiment.ts';
import type { Parts } from '../stop-agent/parts.ts';
import { proseWidth, type Terminal } from './terminal.ts';

interface InitOptions {
  task?: string;
  detector?: string;
  goal?: Goal;
  name?: string;
  out?: string;
  yes?: true;
  force?: true;
  skipInvalid?: true;
}

export function initCommand(terminal: Terminal): Command {
  return new Command('init')
    .description('Ask what you have and what you want, and write a commented experiment file that runs.')
    .argument('[threads]', 'thread file, .jsonl or .jsonl.gz')
    .addOption(new Option('--task <name>', 'which label is decided').choices(Object.keys(tasks)))
    .option(
      '--detector <which>',
      'local, which is trained on your threads, or a detector file (.yaml) for language models',
    )
    .addOption(new Option('--goal <goal>', 'what the agent is for').choices(Object.keys(goals)))
    .option('--name <name>', 'name of the experiment and of its folder of runs')
    .option('-o, --out <file>', 'the file to write (default: <name>.yaml)')
    .option('-y, --yes', 'ask nothing: what is not given takes its default')
    .option('--force', 'write over an existing file')
    .option('--skip-invalid', 'leave invalid threads out instead of stopping')
    .addHelpText(
      'after',
      `
Goals:
${Object.entries(goals)
  .map(([goal, meaning]) => `  ${goal}: ${meaning}`)
  .join('\n')}

Examples:
  earshot init threads.jsonl
  earshot init threads.jsonl.gz --goal fewer-calls --detector experiments/detectors/single-prompt.yaml --yes
  earshot init threads.jsonl --goal ratio-sweep --name ratios --yes`,
    )
    .action((threads: string | undefined, options: InitOptions) => init(threads, { ...options, terminal }));
}

async function init(given: string | undefined, options: InitOptions & { terminal: Terminal }): Promise<void> {
  const { terminal, yes = false, force = false, skipInvalid = false } = options;
  const { stdout, stderr } = terminal;
  const [{ parse }, { experimentText }, { resolveExperiment }] = await Promise.all([
    import('yaml'),
    import('../init/experiment-text.ts'),
    import('../stop-agent/experiment.ts'),
  ]);
  const asking = yes ? null : questions(terminal);
  try {
    const path =
      given ??
      (await asking?.('Thread file', { fallback: 'threads.jsonl', explanation: explanations.threads })) ??
      'threads.jsonl';
    refuseTables(path);
    const threads = await loadThreads(path, {
      skipInvalid,
      onSkipped: (item) => stderr.write(`skipped ${formatBadItem(item)}\n`),
    });
    const found = foundIn(threads, path);
    const { posts, postsPerThread, threadsUnder3Posts, postsWithoutTime, repeatedClaimTexts } = found.description;
    const remarks = [
      threadsUnder3Posts > 0
        ? `${counted(threadsUnder3Posts, 'thread')} with fewer than 3 posts, too few to decide anything`
        : '',
      postsWithoutTime > 0 ? `${counted(postsWithoutTime, 'post')} without a time; rules of hours need them` : '',
      repeatedClaimTexts > 0 ? `${counted(repeatedClaimTexts, 'claim')} with the text of another thread’s` : '',
    ].filter((remark) => remark !== '');
    stderr.write(`Found ${threads.length} threads, ${posts} posts (median ${postsPerThread?.median ?? 0} a thread).\n`);
    for (const { task, labelled, counts } of found.tasks)
      stderr.write(`  ${task.name}: ${labelled} labelled (${counts})\n`);
    for (const remark of remarks)
      stderr.write(`${wrapped(`  ${remark}`, { width: proseWidth(terminal), indent: '  ' })}\n`);

    const names = found.tasks.map(({ task }) => task.name);
    const [firstTask] = names;
    const taskName =
      options.task ??
      (names.length > 1
        ? await asking?.('Which label is decided', { choices: names, explanation: explanations.task })
        : null) ??
      firstTask;
    const chosen = found.tasks.find(({ task }) => task.name === taskName);
    if (chosen === undefined)
      throw new InputError(`${path} has no labels for --task ${taskName}; it has some for ${names.join(', ')}`);
    const which =
      options.detector ??
      (await asking?.('Detector: local, or a detector file for language models', {
        fallback: 'local',
        explanation: explanations.detector,
      })) ??
      'local';
    const detector = which === 'local' ? null : which;
    if (detector !== null) await checkDetector(detector);
    const goal =
      options.goal ??
      goalNamed(
        await asking?.('What the agent is for', {
          choices: Object.keys(goals),
          fallback: 'best-f1',
          explanation: explanations.goal,
        }),
      );
    const name =
      options.name ??
      (await asking?.('Name of the experiment', { fallback: 'my-threads', explanation: explanations.name })) ??
      'my-threads';
    const out = options.out ?? `${name}.yaml`;
    if (existsSync(out) && !force)
      throw new InputError(`${out} exists already; give another --out, or --force to write over it`);

    const unlabelled = threads.length - chosen.labelled;
    const parts = fittingParts(chosen.labelled, { unlabelled, trainsDetector: detector === null });
    const text = experimentText({ name, threads: path, task: chosen.task.name, detector, goal, parts });
    // Read and split as a training would, so that what is written runs.
    const raw: unknown = parse(text);
    const experiment = resolveExperiment(experimentWithin(raw), out);
    const [split] = await Promise.all(experiment.seeds.map((seed) => trainableParts(threads, { experiment, seed })));
    writeFileAtomically(out, text);
    const sizes = Object.entries(split).map(([part, own]) => `${part} ${own.length}`);
    stdout.write(`Wrote ${out}. Parts: ${sizes.join(', ')}.\n`);
    const command = goal === 'ratio-sweep' ? 'sweep' : 'train';
    const dryRun =
      detector === null
        ? []
        : [
            `npx earshot annotate ${quoted(path)} --store judged.sqlite --detector ${quoted(detector)} --dry-run  # what it would cost`,
          ];
    stdout.write(`Next: ${[...dryRun, `npx earshot ${command} ${quoted(out)}`].join('\n      ')}\n`);
  } finally {
    asking?.close();
  }
}

/** @throws InputError where a seed's parts hold nothing to train on */
async function trainableParts(
  threads: readonly Thread[],
  { experiment, seed }: { experiment: Experiment; seed: number },
): Promise<Parts> {
  const [{ assertEveryLabel }, { taskOf }, { splitParts }] = await Promise.all([
    import('../../experts/detectors/local/labelled-threads.ts'),
    import('../stop-agent/experiment.ts'),
    import('../stop-agent/parts.ts'),
  ]);
  const split = splitParts(threads, experiment, seed);
  const task = taskOf(experiment);
  if (!('file' in experiment.detector)) {
    const labels = split.detector.flatMap((thread) => task.goldLabel(thread) ?? []);
    assertEveryLabel({ task, labels, threads: split.detector.length });
  }
  const { minPosts } = experiment.agent;
  if (split.demonstrations.every(({ posts }) => posts.length < minPosts))
    throw new InputError(
      `none of the ${split.demonstrations.length} threads that the agent would learn from has ${minPosts} posts (seed ${seed}), and nothing can be decided early in shorter ones; give threads with more replies`,
    );
  return split;
}

/** The experiment of a sweep file, or the file itself. */
function experimentWithin(raw: unknown) {
  if (!isPlainObject(raw)) throw new Error('the template is not a map');
  return isPlainObject(raw.experiment) ? { name: raw.name, ...raw.experiment } : raw;
}

function goalNamed(text: string | undefined): Goal {
  return Object.keys(goals).find((goal): goal is Goal => goal === text) ?? 'best-f1';
}

function refuseTables(path: string): void {
  const [, format] = /\.(csv|tsv|parquet)(?:\.gz)?$/i.exec(path) ?? [];
  if (format === undefined) return;
  const importer = format.toLowerCase() === 'parquet' ? 'parquet' : 'csv';
  throw new InputError(
    `${path} is a table; make threads of it first: \`earshot data import ${importer} ${quoted(path)} --out threads.jsonl\`. To select among machine labels that it holds, no experiment is needed: \`earshot select --help\``,
  );
}

async function checkDetector(path: string): Promise<void> {
  if (!existsSync(path))
    throw new InputError(
      `there is no detector file ${path}; give local, or one such as experiments/detectors/single-prompt.yaml`,
    );
  const { loadDetectorFile } = await import('../config/detector-file.ts');
  await loadDetectorFile(path);
}

interface Prompt {
  readonly choices?: readonly string[];
  /** What an empty answer means; the first choice unless given. */
  readonly fallback?: string;
  /** What `?` is answered with. */
  readonly explanation: string;
}

/**
 * Asks on stderr and reads lines of stdin, from a person or a pipe. `?` is explained, and the answer waited for.
 * @throws InputError where stdin ends before the answer
 */
function questions(terminal: Terminal) {
  const { stdin, stderr } = terminal;
  const width = proseWidth(terminal);
  const reader = createInterface({ input: stdin });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (question: string, { choices, fallback = choices?.[0], explanation }: Prompt): Promise<string> => {
    const options =
      choices === undefined
        ? ''
        : `\n${choices.map((choice) => wrapped(`  ${choice}${choice in goals ? `: ${goals[goalNamed(choice)]}` : ''}`, { width, indent: '    ' })).join('\n')}\n`;
    const prompt = `${options === '' ? ' ' : ''}[${fallback}; ? explains] `;
    stderr.write(`${wrapped(`${question}?`, { width })}${options}${prompt}`);
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new InputError('no answer; give the answers as options, or --yes to take the defaults');
      const answer = String(value).trim() || (fallback ?? '');
      const isExplained = answer === '?';
      if (!isExplained && (choices === undefined || choices.includes(answer))) return answer;
      const said = isExplained ? explanation : `${JSON.stringify(answer)} is none of ${choices?.join(', ')}.`;
      stderr.write(`${wrapped(said, { width })}\n[${fallback}] `);
    }
  };
  return Object.assign(ask, { close: () => reader.close() });
}
