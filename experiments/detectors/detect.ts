import { judgementLabels, loadJudgingTask, shippedTasks } from '../../experts/tasks/task-file.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { workContext } from '../../src/work-context.ts';
import type { PlainObject } from '../config/overrides.ts';
import { fairTests, labelledThreads } from '../judging/drawn-threads.ts';
import type { ScoredTask } from '../judging/gold-labels.ts';
import { openJudge } from '../judging/judge.ts';

/**
 * The detectors in some files as variants of an experiment, and the task that they decide.
 * @throws InputError for a file that holds no detector, detectors of several tasks, or two with one name
 */
export async function detectedBy(files: readonly string[]) {
  const judges = await Promise.all(files.map(openJudge));
  const [{ task }] = judges;
  const other = judges.findIndex((judge) => judge.task.labels.join('\n') !== task.labels.join('\n'));
  if (other >= 0)
    throw new InputError(
      `${files[0]} decides ${task.name} and ${files[other]} decides ${judges[other].task.name}; compare detectors of one task`,
    );
  const names = judges.map(({ name }) => name.replaceAll(/[^\w.-]+/g, '-'));
  const twice = names.findIndex((name, index) => names.indexOf(name) < index);
  if (twice >= 0)
    throw new InputError(
      `${files[twice]}: another detector is called ${names[twice]}, too; give one of the files another name`,
    );
  const variants = Object.fromEntries(
    names.map((name, index) => [name, { detector: { name: 'file', file: files[index] } }]),
  );
  return { task: { ...task, config: await configOf(task) }, variants };
}

/** A task as an experiment names it. */
async function configOf({ name, labels, categories }: ScoredTask): Promise<string | PlainObject> {
  const isShipped = shippedTasks.some((shipped) => shipped === name);
  if (isShipped && judgementLabels(await loadJudgingTask(name)).join('\n') === labels.join('\n')) return name;
  if (categories === null) return { label: name, classes: labels };
  throw new InputError(
    `the task ${name} is one of categories and no shipped one; write an experiment of kind detectors that names its file (docs/how-to/compare-detectors.md)`,
  );
}

/**
 * How many threads are judged: as many as are wanted and labelled.
 * @throws InputError where none is labelled
 */
export function testSizeOf(
  threads: readonly Thread[],
  { task, limit, onNote }: { task: ScoredTask; limit: number | undefined; onNote: (line: string) => void },
): number | 'rest' {
  const { length } = fairTests(labelledThreads(threads, { task, context: workContext() }), { onNote });
  return limit === undefined || limit >= length ? 'rest' : limit;
}
