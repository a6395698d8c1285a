import { existsSync } from 'node:fs';
import { InputError } from '../../src/errors.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { inOrderOf } from '../init/detector-task.ts';
import { explanations } from '../init/explanations.ts';
import type { FoundEncoder } from '../init/found-encoders.ts';
import { fittingParts, type foundIn } from '../init/found-threads.ts';
import { type Goal, goals } from '../init/goals.ts';
import { percentage } from './option-values.ts';
import type { questions } from './questions.ts';

type Ask = ReturnType<typeof questions>;

/** What of the answers the options of `init` give. */
interface GivenAnswers {
  task?: string;
  detector?: string;
  encoder?: string;
  goal?: string;
  riskLevel?: number;
  name?: string;
  out?: string;
}

/** What the options say, and what is asked for because they do not. */
export async function answersTo(
  found: ReturnType<typeof foundIn>,
  options: GivenAnswers & { path: string; ask: Ask; threads: number },
) {
  const { path, ask, threads } = options;
  const names = found.tasks.map(({ task }) => task.name);
  const taskName =
    options.task ??
    (names.length > 1
      ? await ask('Which label is decided', { choices: names, explanation: explanations.task })
      : names[0]);
  const chosen = found.tasks.find(({ task }) => task.name === taskName);
  if (chosen === undefined)
    throw new InputError(`${path} has no labels for --task ${taskName}; it has some for ${names.join(', ')}`);
  const { task: decided, labelled } = chosen;
  const partsFor = (calibrates: boolean, trainsDetector: boolean) =>
    fittingParts(labelled, { unlabelled: threads - labelled, trainsDetector, calibrates });
  const smallest = (share: number) => smallestCalibration({ level: share, confidence: 0.9 });
  // Labelled threads calibrate where others are too few; a detector file is calibrated on threads of its own.
  const isLocal = options.detector === undefined || options.detector === 'local';
  const canCalibrate = isLocal || partsFor(true, false).calibration >= smallest(options.riskLevel ?? 0.05);
  const { goal, level } = await chosenGoal(options, { ask, canCalibrate });
  const which =
    options.detector ??
    (await ask('Detector: local, or a detector file for language models', {
      fallback: 'local',
      explanation: explanations.detector,
      check: openedDetector,
    }));
  const file = await openedDetector(which);
  const detector = file?.path ?? null;
  const task = file === null ? decided : inOrderOf(file, decided);
  const encoder = await chosenEncoder({ given: options.encoder, detector, ask });
  const isCrossFitted = detector === null && goal !== 'ratio-sweep';
  const parts = isCrossFitted ? null : partsFor(goal === 'guarantee', detector === null);
  if (parts !== null && goal === 'guarantee' && parts.calibration < smallest(level))
    throw new InputError(
      `${parts.calibration} threads are left for the calibration, and a guarantee of ${100 * level}% takes ${smallest(level)}; add threads, which need no labels, or allow more with --risk-level`,
    );
  const name =
    options.name ?? (await ask('Name of the experiment', { fallback: 'my-threads', explanation: explanations.name }));
  return { name, task, detector, encoder, goal, level, labelled, parts, out: options.out ?? `${name}.yaml` };
}

/** A guarantee and its risk level, or another goal. */
async function chosenGoal(
  given: Pick<GivenAnswers, 'goal' | 'riskLevel'>,
  { ask, canCalibrate }: { ask: Ask; canCalibrate: boolean },
): Promise<{ goal: Goal; level: number }> {
  const { goal = 'guarantee', riskLevel: level } = given;
  if (goal !== 'guarantee') return { goal: goalNamed(goal), level: 0.05 };
  if (level !== undefined) return { goal: 'guarantee', level };
  const isOpen = given.goal === undefined;
  const answer = await ask(
    `How many predictions may change if you stop early${isOpen ? ' (other: another goal)' : ''}`,
    {
      fallback: isOpen && !canCalibrate ? 'other' : '5%',
      explanation: explanations.level,
      check: async (text) => {
        if (isOpen && text === 'other') return;
        try {
          percentage(text);
        } catch (error) {
          throw new InputError(`${JSON.stringify(text)} is no share; give one such as 5%`, { cause: error });
        }
      },
    },
  );
  if (answer !== 'other') return { goal: 'guarantee', level: percentage(answer) };
  const choices = Object.keys(goals).filter((name) => name !== 'guarantee');
  const other = await ask('What the agent is for', {
    ...{ choices, meanings: goals, fallback: 'best-f1', explanation: explanations.goal },
  });
  return { goal: goalNamed(other), level: 0.05 };
}

function goalNamed(text: string): Goal {
  return Object.keys(goals).find((goal): goal is Goal => goal === text) ?? 'best-f1';
}

/** @throws InputError for an encoder that is not there, or that nothing would read */
async function chosenEncoder(options: {
  given: string | undefined;
  detector: string | null;
  ask: Ask;
}): Promise<FoundEncoder['config'] | null> {
  const { given, detector, ask } = options;
  if (detector !== null) {
    if (given === undefined) return null;
    throw new InputError(
      `--encoder ${given} is for the local detector, and ${detector} asks language models; leave one out`,
    );
  }
  const { foundEncoders, transformerIn } = await import('../init/found-encoders.ts');
  const found = foundEncoders();
  const names = ['none', ...found.map(({ name }) => name)];
  const which =
    given ??
    (found.length === 0
      ? 'none'
      : await ask('Sentence encoder for the detector', { choices: names, explanation: explanations.encoder }));
  if (which === 'none') return null;
  const encoder = found.find(({ name }) => name === which) ?? transformerIn(which, which);
  if (encoder === null)
    throw new InputError(
      `there is no sentence encoder ${which} here; there is ${names.join(', ')}. docs/how-to/choose-an-encoder.md says how to get one`,
    );
  return encoder.config;
}

/** @throws InputError for a detector file that is not there or does not load */
async function openedDetector(path: string): Promise<DetectorFile | null> {
  if (path === 'local') return null;
  if (!existsSync(path))
    throw new InputError(
      `there is no detector file ${path}; give local, or one such as experiments/recipes/detectors/single-prompt.yaml`,
    );
  const { loadDetectorFile } = await import('../config/detector-file.ts');
  return loadDetectorFile(path);
}
