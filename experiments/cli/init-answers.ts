import { existsSync } from 'node:fs';
import { type JudgingTask, judgementLabels } from '../../experts/tasks/task-file.ts';
import { identityOf, type Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import { present } from '../../src/present.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { experimentName } from '../config/experiment-file.ts';
import { type Goal, goals } from '../init/experiment-text.ts';
import type { FoundEncoder } from '../init/found-encoders.ts';
import { fittingParts, type foundIn } from '../init/found-threads.ts';
import { list, properShareOf } from './option-values.ts';
import type { Ask } from './questions.ts';
import { refuseExisting } from './shared-options.ts';

interface GivenAnswers {
  task?: string;
  detector?: string;
  encoder?: string;
  goal?: string;
  alerts?: string;
  riskLevel?: number;
  name?: string;
  out?: string;
}

/** The answers from the options, and from questions for the rest. */
export async function answersTo(
  contents: ReturnType<typeof foundIn>,
  options: GivenAnswers & { ask: Ask; threads: number; force: boolean },
) {
  const { ask, threads, force } = options;
  const outOf = (name: string) => options.out ?? `${name}.yaml`;
  const names = contents.tasks.map(({ task }) => task.name);
  const taskName = await ask('Which label is decided', {
    option: options.task ?? (names.length > 1 ? undefined : names[0]),
    choices: names,
    explanation:
      'The label of a thread that is decided: one of your own by its name, or a known one. rumor: whether it is one; veracity: true, false, unverified or non-rumor; rumor-veracity: true, false or unverified.',
  });
  const chosen = contents.tasks.find(({ task }) => task.name === taskName) ?? contents.tasks[0];
  const { task: decided, labelled } = chosen;
  const unlabelled = threads - labelled;
  const alerts = alertsOf(options.alerts, decided);
  const smallest = await fewestThreads(chosen, alerts);
  // Without alerts, the labelled threads of a local detector calibrate where others are too few.
  const isLocal = options.detector === undefined || options.detector === 'local';
  const most = isLocal
    ? unlabelled - Math.min(100, Math.floor(unlabelled / 3))
    : fittingParts(labelled, { unlabelled, calibrates: true }).calibration;
  const canCalibrate = (isLocal && alerts.length === 0) || most >= smallest(options.riskLevel ?? usualLevel);
  const { goal, level } = await chosenGoal(options, { ask, canCalibrate, alerts });
  const which = await ask('Detector: local, or a detector file for language models', {
    option: options.detector,
    fallback: 'local',
    explanation:
      'What judges the posts read so far. local: a small classifier that is trained on some of your threads; it costs nothing to ask. A detector file (.yaml) asks language models, which costs money at every post that is judged; their answers are kept.',
    check: openedDetector,
  });
  const file = await openedDetector(which);
  const detector = file?.path ?? null;
  const task = file === null ? decided : inOrderOf(file, decided);
  const encoder = await chosenEncoder({ option: options.encoder, detector, ask });
  const parts = detector === null ? null : fittingParts(labelled, { unlabelled, calibrates: goal === 'guarantee' });
  const calibration = parts === null ? most : parts.calibration;
  const hasLabelsInstead = parts === null && alerts.length === 0;
  if (goal === 'guarantee' && !hasLabelsInstead && calibration < smallest(level))
    throw new InputError(
      `${calibration} threads are left for the calibration, and a guarantee of ${Number((100 * level).toFixed(6))}%${alerts.length === 0 ? '' : ` about alerts (${alerts.join(', ')})`} takes ${alerts.length === 0 ? '' : 'about '}${smallest(level)}; add threads, which need no labels, or allow more with --risk-level`,
    );
  const isLeftOut =
    options.goal === undefined && options.riskLevel === undefined && !canCalibrate && goal !== 'guarantee';
  const notes = present([
    isLeftOut &&
      `no guarantee: at a risk level of 5% it takes about ${smallest(usualLevel)} threads to calibrate on, and ${most} would be left for that; more threads, which need no labels, or another --risk-level allow one`,
  ]);
  const name = await ask('Name of the experiment', {
    option: options.name,
    fallback: 'my-threads',
    explanation:
      'The file that is written and the folder of the runs are called so. Letters, digits, dots, dashes and underscores.',
    check(answer) {
      const { error } = experimentName.safeParse(answer);
      if (error) throw new InputError(`${JSON.stringify(answer)} cannot be the name: ${error.issues[0].message}`);
      refuseExisting({ out: outOf(answer), force });
    },
  });
  return {
    ...{ name, task, alerts, detector, encoder, goal, level, labelled, parts, notes },
    out: outOf(name),
  };
}

const usualLevel = 0.05;

/** The labels that raise an alert. The schema of experiments refuses those that are none of the task, and all of them. */
function alertsOf(text: string | undefined, { labels }: Task): string[] {
  if (text === undefined) return [];
  return labels.includes(text) ? [text] : list(text);
}

/** The number of calibration threads that can show a risk level, if as many raise an early alert as have such a label. */
async function fewestThreads(
  { counts, labelled }: FoundTask,
  alerts: readonly string[],
): Promise<(level: number) => number> {
  if (alerts.length === 0) return (level) => smallestCalibration({ level, confidence: 0.9 });
  const { fewestEarlyAlerts } = await import('../stop-agent/calibrate.ts');
  const raising = counts.reduce((sum, { label, count }) => sum + (alerts.includes(label) ? count : 0), 0);
  if (raising === 0)
    throw new InputError(
      `no thread has the label ${alerts.join(' or ')} of --alerts; name others (there are ${counts.map(({ label }) => label).join(', ')}), or add such threads`,
    );
  return (level) => Math.ceil((fewestEarlyAlerts({ level, confidence: 0.9 }) * labelled) / raising);
}

type FoundTask = ReturnType<typeof foundIn>['tasks'][number];

async function chosenGoal(
  answers: Pick<GivenAnswers, 'goal' | 'riskLevel'>,
  { ask, canCalibrate, alerts }: { ask: Ask; canCalibrate: boolean; alerts: readonly string[] },
): Promise<{ goal: Goal; level: number }> {
  const { goal = 'guarantee', riskLevel: level } = answers;
  if (goal !== 'guarantee') return { goal: goalNamed(goal), level: usualLevel };
  if (level !== undefined) return { goal: 'guarantee', level };
  const isOpen = answers.goal === undefined;
  const answer = await ask(
    `How many ${alerts.length === 0 ? 'predictions may change if you stop early' : 'early alerts may be withdrawn later'}${isOpen ? ' (other: another goal)' : ''}`,
    {
      fallback: isOpen && !canCalibrate ? 'other' : '5%',
      explanation:
        'A policy that stops early may predict something else than it would at the end of the thread. This is the largest share of threads in which that may happen; it holds with 90% confidence. More is earlier. Write other for an agent without a guarantee: one that saves queries, or is chosen by macro-F1 and delay.',
      check(text) {
        if (isOpen && text === 'other') return;
        if (properShareOf(text) === null)
          throw new InputError(`${JSON.stringify(text)} is no share; give one such as 5%`);
      },
    },
  );
  if (answer !== 'other') return { goal: 'guarantee', level: properShareOf(answer) ?? usualLevel };
  const choices = Object.keys(goals).filter((name) => name !== 'guarantee');
  const other = await ask('What the agent is for', {
    ...{ choices, meanings: goals, fallback: 'best-f1' },
    explanation:
      'What weighs most: queries of the detector, being early, or being right. You can change it later: it only chooses settings in the file.',
  });
  return { goal: goalNamed(other), level: usualLevel };
}

function goalNamed(text: string): Goal {
  return Object.keys(goals).find((goal): goal is Goal => goal === text) ?? 'best-f1';
}

/** @throws InputError for a missing encoder, or one that no detector reads */
async function chosenEncoder(options: {
  option: string | undefined;
  detector: string | null;
  ask: Ask;
}): Promise<FoundEncoder['config'] | null> {
  const { option, detector, ask } = options;
  if (detector !== null) {
    if (option === undefined) return null;
    throw new InputError(
      `--encoder ${option} is for the local detector, and ${detector} asks language models; leave one out`,
    );
  }
  const { foundEncoders, transformerIn } = await import('../init/found-encoders.ts');
  const encoders = foundEncoders();
  const names = ['none', ...encoders.map(({ name }) => name)];
  const which =
    option ??
    (await ask('Sentence encoder for the detector', {
      option: encoders.length === 0 ? 'none' : undefined,
      choices: names,
      explanation:
        'The local detector reads n-grams of words and characters. A sentence encoder knows meanings, too: it may help where labels are few, and takes time. Exported policies cannot carry it. `earshot detect <threads> --train` says whether it helps with your labels; docs/how-to/choose-an-encoder.md says where to get others.',
    }));
  if (which === 'none') return null;
  const encoder = encoders.find(({ name }) => name === which) ?? transformerIn(which, which);
  if (encoder === null)
    throw new InputError(
      `there is no sentence encoder ${which} here; give ${names.join(', ')}. docs/how-to/choose-an-encoder.md says how to get one`,
    );
  return encoder.config;
}

/** @throws InputError for a missing or invalid detector file */
async function openedDetector(path: string): Promise<DetectorFile | null> {
  if (path === 'local') return null;
  if (!existsSync(path))
    throw new InputError(
      `there is no detector file ${path}; give local, or one such as experiments/recipes/detectors/single-prompt.yaml`,
    );
  const { loadDetectorFile } = await import('../config/detector-file.ts');
  return loadDetectorFile(path);
}

/** A task with its classes in the order of a detector file. @throws InputError if the file judges other classes */
export function inOrderOf(file: { readonly path: string; readonly task: JudgingTask }, task: Task): Task {
  const labels = judgementLabels(file.task);
  if ([...labels].sort().join('\n') === [...task.labels].sort().join('\n'))
    return typeof identityOf(task) === 'string' ? task : { ...task, labels };
  throw new InputError(
    `${file.path} judges ${file.task.name}, whose labels are ${labels.join(', ')}, and ${task.name} has ${task.labels.join(', ')}; give a detector of that task, or another --task`,
  );
}
