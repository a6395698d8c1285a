import { Command, Option } from '@commander-js/extra-typings';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import { isFairTest, isLabelled, type Thread } from '../../src/data/thread.ts';
import { loadThreads, refuseTable } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { smallestOnAverage } from '../../src/metrics/conformal-risk-control.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import { existingPath } from '../../src/missing-path.ts';
import { present } from '../../src/present.ts';
import { quoted } from '../../src/shell-words.ts';
import type { PlainObject } from '../config/overrides.ts';
import { experimentText, goals } from '../init/experiment-text.ts';
import { countsInWords, fewestLabelled, foundIn, labelCommandFor, readsTimes } from '../init/found-threads.ts';
import { wrapped } from '../report/terminal-text.ts';
import type { Experiment } from '../stop-agent/experiment.ts';
import { answersTo } from './init-answers.ts';
import { type OptionsOf, properShare, refuseOptions } from './option-values.ts';
import { questions } from './questions.ts';
import { refuseInputAsOutput } from './shared-options.ts';
import { proseWidth, type Terminal } from './terminal.ts';

/** With fewer labelled threads, scores and detectors change much from one draw to the next. */
const fewLabels = 100;

const selectInstead = '. To select among weak labels that it holds, no experiment is needed: `earshot select --help`';

export function initCommand(terminal: Terminal) {
  return initOptions().action(async (threads, options) => {
    const { detector, ...others } = options;
    if (detector !== true) {
      refuseOptions(options, ['baseUrl', 'model', 'apiKeyEnv', 'json'], 'is for --detector without a value');
      return init(threads, { ...others, detector, terminal });
    }
    refuseOptions(
      options,
      ['goal', 'riskLevel', 'alerts', 'encoder'],
      'is for an experiment; give --detector a value, or leave it out',
    );
    const { initDetector } = await import('./init-detector.ts');
    const ask = questions(terminal, { yes: options.yes ?? false });
    await initDetector({ ...others, threads, ask, terminal }).finally(() => ask.close());
  });
}

type InitOptions = Omit<OptionsOf<typeof initOptions>, 'detector'> & { detector?: string };

function initOptions() {
  return new Command('init')
    .description('Ask what you have and what you want, and write a commented experiment file that runs.')
    .argument('[threads]', 'thread file, .jsonl or .jsonl.gz')
    .option('--task <name>', 'which label is decided: rumor, veracity, rumor-veracity, or the name of one of your own')
    .option(
      '--detector [which]',
      'local, which is trained on your threads, or a detector file (.yaml) for language models; without a value: write such a file',
    )
    .option(
      '--base-url <address>',
      'with --detector alone: where the language model is, such as http://localhost:11434/v1',
    )
    .option('--model <name>', 'with --detector alone: its name there')
    .option('--api-key-env <variable>', 'with --detector alone: environment variable that holds the key, or none')
    .option('--no-test', 'with --detector alone: write the file without making one call')
    .option('--json', 'with --detector alone: print the outcome as JSON')
    .option(
      '--encoder <which>',
      'a sentence encoder that the local detector reads beside n-grams: universal-sentence-encoder, or the folder of a transformer (default: none)',
    )
    .addOption(new Option('--goal <goal>', 'what the agent is for').choices(Object.keys(goals)))
    .option(
      '--risk-level <share>',
      'a guarantee with this risk level: largest share of predictions that may change, or of early alerts that may be withdrawn, such as 5%',
      properShare,
    )
    .option(
      '--alerts <labels>',
      'labels that raise an alert, with commas between them: the policy stops early with these alone, and the guarantee is about them',
    )
    .option('--name <name>', 'name of the experiment and of its folder of runs')
    .option('-o, --out <file>', 'the file to write (default: <name>.yaml)')
    .option('-y, --yes', 'ask no question; options that are not given take their defaults')
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
  earshot init --detector
  earshot init --detector --base-url https://api.openai.com/v1 --model gpt-4o-mini --api-key-env OPENAI_API_KEY
  earshot init threads.jsonl.gz --goal fewer-queries --detector experiments/recipes/detectors/single-prompt.yaml --yes
  earshot init threads.jsonl --alerts escalated --name alerts --yes`,
    );
}

async function init(argument: string | undefined, options: InitOptions & { terminal: Terminal }): Promise<void> {
  const { terminal, yes = false, force = false, skipInvalid } = options;
  const { stdout, stderr } = terminal;
  const { parse } = await import('yaml');
  const { resolveExperiment } = await import('../stop-agent/experiment.ts');
  const ask = questions(terminal, { yes });
  try {
    const path = await ask('Thread file', {
      option: argument,
      fallback: 'threads.jsonl',
      explanation:
        'A file of JSON Lines, one thread a line: its id, its label, and its posts with the claim first. `earshot data import` makes one of a table or a common data set.',
      check(answer) {
        refuseTable(answer, { after: selectInstead });
        existingPath(answer);
      },
    });
    const threads = await loadThreads(path, { skipInvalid, onSkipped: (line) => stderr.write(`${line}\n`) });
    if (!threads.some(isLabelled)) {
      stdout.write(labelFirst(path, { threads: threads.length, width: proseWidth(terminal) }));
      return;
    }
    const contents = foundIn(threads, path);
    const { posts, postsWithoutTime } = contents.description;
    stderr.write(foundText(contents, { threads: threads.length, width: proseWidth(terminal) }));
    const { out, notes, ...answers } = await answersTo(contents, { ...options, force, ask, threads: threads.length });
    for (const note of notes) stderr.write(`${wrapped(`  ${note}`, { width: proseWidth(terminal), indent: '  ' })}\n`);
    const { detector, parts, labelled } = answers;
    const timing = readsTimes({ labelled, posts, postsWithoutTime });
    if (parts === null && labelled < fewLabels)
      stderr.write(
        `${wrapped(`${labelled} threads are labelled for ${answers.task.name}. With fewer than ${fewLabels}, scores say little, and each further label helps much: label more if you can.`, { width: proseWidth(terminal) })}\n`,
      );
    refuseInputAsOutput({ out, inputs: [path] });
    const text = experimentText({ ...answers, threads: path, timing });
    // Read and split as a training would, so that what is written runs.
    const raw: PlainObject = parse(text);
    const experiment = resolveExperiment(raw, out);
    const [used] = await Promise.all(experiment.seeds.map((seed) => threadsUsed(threads, { experiment, seed })));
    writeFileAtomically(out, text);
    stdout.write(`${wrapped(`Wrote ${out}. ${used}`, { width: proseWidth(terminal) })}\n`);
    const next = present([
      detector !== null &&
        `npx earshot annotate ${quoted(path)} --store judged.sqlite --detector ${quoted(detector)} --dry-run  # what it would cost`,
      `npx earshot train ${quoted(out)}`,
    ]);
    stdout.write(`Next: ${next.join('\n      ')}\n`);
  } finally {
    ask.close();
  }
}

/** The advice for a file without labels. */
function labelFirst(path: string, { threads, width }: { threads: number; width: number }): string {
  const text = `${path} has ${counted(threads, 'thread')}, and none has a label. Give labels to at least ${fewestLabelled}, better to 150, on a page of this machine; which ones is chosen there. Write the name of the label and its classes in the place of these.`;
  return `${wrapped(text, { width })}\nNext: npx ${labelCommandFor(path, null)}\n`;
}

/** Describes a thread file and its oddities. */
function foundText(
  { description, tasks: candidates }: ReturnType<typeof foundIn>,
  { threads, width }: { threads: number; width: number },
): string {
  const { posts, postsPerThread, threadsUnder3Posts, postsWithoutTime, repeatedClaimTexts } = description;
  const remarks = present([
    threadsUnder3Posts > 0 &&
      `${counted(threadsUnder3Posts, 'thread')} with fewer than 3 posts, too few to decide early`,
    postsWithoutTime > 0 &&
      `${counted(postsWithoutTime, 'post')} without a time; rules of hours and the detector use times`,
    repeatedClaimTexts > 0 && `${counted(repeatedClaimTexts, 'claim')} with the same text as another thread’s`,
  ]);
  return [
    `Found ${threads} threads, ${posts} posts (median ${postsPerThread?.median ?? 0} per thread).\n`,
    ...candidates.map(
      ({ task, labelled, counts }) => `  ${task.name}: ${labelled} labelled (${countsInWords(counts)})\n`,
    ),
    ...remarks.map((remark) => `${wrapped(`  ${remark}`, { width, indent: '  ' })}\n`),
  ].join('');
}

/** Describes who trains and tests. @throws InputError if a seed's threads leave nothing to train on */
async function threadsUsed(threads: readonly Thread[], of: { experiment: Experiment; seed: number }): Promise<string> {
  const { splitParts } = await import('../stop-agent/parts.ts');
  const { crossFittedFacts } = await import('../stop-agent/cross-fitting.ts');
  const { experiment, seed } = of;
  const { crossFitting, guarantee, agent } = experiment;
  const refuseShort = (learnt: readonly Thread[]) => {
    if (learnt.every(({ posts }) => posts.length < agent.minPosts))
      throw new InputError(
        `none of the ${learnt.length} threads that the agent would learn from has ${agent.minPosts} posts (seed ${seed}), and nothing can be decided early in shorter ones; give threads with more replies`,
      );
  };
  if (crossFitting === null) {
    const parts = splitParts(threads, experiment, seed);
    refuseShort(parts.demonstrations);
    const sizes = Object.entries(parts).map(([part, { length }]) => length > 0 && `${part} ${length}`);
    return `Parts: ${present(sizes).join(', ')}.`;
  }
  const { labelled, environment, calibration } = crossFittedFacts(threads, of);
  const isByLabels = guarantee !== null && calibration.length === 0;
  const tested = labelled.filter(isFairTest).length;
  if (isByLabels && tested < smallestOnAverage(guarantee))
    throw new InputError(
      `a guarantee of ${100 * guarantee.level}% takes ${smallestOnAverage(guarantee)} labelled threads that test, or about ${Math.ceil(1.5 * smallestCalibration(guarantee))} without a label, and there are ${tested} and ${threads.length - labelled.length}; add threads, or allow more with --risk-level`,
    );
  refuseShort(labelled);
  const unlabelled = present([
    environment.length > 0 && `${environment.length} unlabelled ones train the agent, too`,
    calibration.length > 0 && `${calibration.length} calibrate the guarantee`,
  ]);
  const whole = `${labelled.length} labelled threads train and test in ${crossFitting.folds} folds`;
  return present([
    `${[whole, ...(unlabelled.length === 0 ? [] : [unlabelled.join(', and ')])].join('; ')}.`,
    isByLabels &&
      'The guarantee is found on the labelled threads and holds on average; with 150 unlabelled threads it would hold with 90% confidence.',
  ]).join(' ');
}
