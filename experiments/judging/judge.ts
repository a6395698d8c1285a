import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Detector } from '../../experts/detector.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { judgeThreads } from '../../experts/judge-threads.ts';
import type { Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { isDetectorFile } from '../config/is-detector-file.ts';
import { type ScoredTask, scoredLabel, scoredTask } from './gold-labels.ts';
import { annotateOptions, type Judged, type JudgeOptions } from './judge-options.ts';

export interface Judge {
  /** The name in tables. */
  readonly name: string;
  readonly task: ScoredTask;
  /** True for language models, which cost money and can answer in batches. */
  readonly asksModels: boolean;
  judge(options: JudgeOptions): Promise<Judged>;
}

/** Opens a detector file (.yaml) or a saved detector (.json). @throws InputError if there is none */
export async function openJudge(path: string): Promise<Judge> {
  if (isDetectorFile(path)) {
    const { loadDetectorFile } = await import('../config/detector-file.ts');
    return judgeByModels(await loadDetectorFile(path));
  }
  if (!existsSync(path))
    throw new InputError(
      `there is no detector ${path}; give a detector file (.yaml), or the policy/detector.json of a run`,
    );
  const detector = await LocalDetector.load({ path });
  const { task, labels } = detector.model;
  return judgeBy(detector, { name: basename(path).replace(/\.json$/, ''), task: { name: task, labels } });
}

/** The detector of an experiment. @throws InputError if it decides another task */
export async function openJudgeOf(
  path: string,
  task: { readonly name: string; readonly labels: readonly string[] },
): Promise<Judge> {
  const judge = await openJudge(path);
  const { name, labels } = judge.task;
  if (labels.join('\n') !== task.labels.join('\n'))
    throw new InputError(
      `${path} judges the task ${name}, whose labels are ${labels.join(', ')}; an experiment with task: ${task.name} needs the labels ${task.labels.join(', ')}, in this order. Name a detector of that task, or change the task of the experiment`,
    );
  return judge;
}

export function judgeByModels(file: DetectorFile): Judge {
  return {
    name: file.name,
    task: scoredTask(file.task),
    asksModels: true,
    async judge(options) {
      const { judgeWithModels } = await import('./judge-with-models.ts');
      return judgeWithModels({ ...options, file });
    },
  };
}

/** A judge for a loaded detector that costs nothing, so nothing is stored. */
export function judgeBy(
  detector: Detector,
  { name, task }: { name: string; task: Pick<Task, 'name' | 'labels'> },
): Judge {
  return {
    name,
    task: scoredLabel(task),
    asksModels: false,
    async judge(options) {
      const { store, onJudgement } = options;
      const result = await judgeThreads({
        ...annotateOptions(options, { detector, store, concurrency: 1 }),
        onJudgement,
      });
      return { detector, result, usage: [], estimates: null };
    },
  };
}
