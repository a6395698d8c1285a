import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { loadTaskFile, shippedTasks } from '../../experts/tasks/task-file.ts';
import { classesOfLabels, mostClasses } from '../../src/data/classes-of-labels.ts';
import { type Task, taskOfLabel, tasks } from '../../src/data/task.ts';
import { readThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { isPlainObject, type PlainObject } from './overrides.ts';

const className = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !/[\p{Cc}\u2028\u2029]/u.test(name), 'a class is one line of text');

export const ownTaskSchema = z.strictObject({
  label: z.string().min(1).describe('name of the label in the `labels` of a thread'),
  classes: z
    .array(className)
    .min(2)
    .max(mostClasses)
    .refine((names) => new Set(names).size === names.length, 'a class stands there twice')
    .describe('its values, in the order of reports; those that the threads have unless given'),
});

export const taskSchema = z.union([z.enum(Object.keys(tasks)), ownTaskSchema]);

export function taskNamed(task: z.output<typeof taskSchema>): Task {
  if (typeof task === 'string') return tasks[task];
  return taskOfLabel({ name: task.label, labels: task.classes });
}

/**
 * Adds the classes of a custom task, from its task file or from the threads.
 * @param written the experiment with `task` as users write it: a known task, a task file, a label, or `{label,
 * classes}`
 * @throws InputError for an invalid task file, or a label without threads
 */
export async function withClasses(written: PlainObject, source: string): Promise<PlainObject> {
  const raw = written.alerts === undefined ? written : { ...written, alerts: asTexts(written.alerts) };
  const { task } = raw;
  if (typeof task === 'string') {
    if (Object.hasOwn(tasks, task)) return raw;
    if (isTaskFile(task)) return { ...raw, ...(await taskOfFile(task, raw)) };
    return { ...raw, task: { label: task, classes: await classesFound(raw, { label: task, source }) } };
  }
  if (!isPlainObject(task) || typeof task.label !== 'string') return raw;
  const { label, classes } = task;
  if (classes === undefined) return { ...raw, task: { ...task, classes: await classesFound(raw, { label, source }) } };
  return { ...raw, task: { ...task, classes: asTexts(classes) } };
}

/** Class names as texts, because YAML reads 1 and true as other types. */
function asTexts(classes: unknown): unknown {
  const isScalar = (value: unknown) => typeof value === 'number' || typeof value === 'boolean';
  return Array.isArray(classes) ? classes.map((name) => (isScalar(name) ? String(name) : name)) : classes;
}

/** True for a task file, or a task that ships with Earshot. */
export function isTaskFile(task: string): boolean {
  return /\.ya?ml$/i.test(task) || shippedTasks.some((name) => name === task);
}

async function taskOfFile(path: string, { alerts }: PlainObject): Promise<PlainObject> {
  const { name, labels, alerts: taskAlerts } = await loadTaskFile(path);
  if (labels === undefined)
    throw new InputError(`${path} is a task of categories, which only detectors decide; give one of labels`);
  const task = { label: name, classes: labels.map((label) => label.name) };
  const isKnown = Object.hasOwn(tasks, name) && tasks[name].labels.join('\n') === task.classes.join('\n');
  return { task: isKnown ? name : task, ...((alerts ?? taskAlerts.length > 0) && { alerts: alerts ?? taskAlerts }) };
}

/** @throws InputError without that label, or without two to twenty classes */
async function classesFound(
  { data }: PlainObject,
  { label, source }: { label: string; source: string },
): Promise<string[]> {
  const path = isPlainObject(data) ? data.threads : undefined;
  const builtIn = Object.keys(tasks);
  if (typeof path !== 'string')
    throw new InputError(
      `${source}: task is ${JSON.stringify(label)}; made-up threads have the tasks ${builtIn.join(', ')}. Give data.threads, whose labels may have any name`,
    );
  const skipInvalid = isPlainObject(data) && data.skipInvalid === true;
  const { values, names } = await labelsIn(path, { label, skipInvalid });
  if (values.size === 0) {
    const all = [...builtIn, ...names];
    const near = closest(label, all);
    const advice = distance(label, near) <= 3 ? `; did you mean ${near}?` : '';
    throw new InputError(
      `${source}: task is ${JSON.stringify(label)}, and no thread of ${path} has a label of that name; there are ${all.join(', ')}${advice}`,
    );
  }
  return classesOfLabels(values, { label, path });
}

async function labelsIn(path: string, { label, skipInvalid }: { label: string; skipInvalid: boolean }) {
  const values = new Map<string | number | boolean, number>();
  const names = new Set<string>();
  for await (const { labels = {} } of readThreads(path, { skipInvalid })) {
    for (const name of Object.keys(labels)) if (names.size < 20) names.add(name);
    const value = Object.hasOwn(labels, label) ? labels[label] : null;
    // A label of free texts would fill the memory.
    if (value !== null && (values.has(value) || values.size <= mostClasses))
      values.set(value, (values.get(value) ?? 0) + 1);
  }
  return { values, names };
}
