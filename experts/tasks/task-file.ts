import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { checked } from '../../src/checked.ts';
import { InputError } from '../../src/errors.ts';
import { parseYaml } from '../../src/yaml.ts';

const labelSchema = z.preprocess(
  (label) => (isScalar(label) ? { name: String(label) } : label),
  z
    .strictObject({
      name: z.string().min(1),
      description: z.string().default('').describe('what the label means; shown to language models'),
      answers: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe('words that a model may answer with, such as Yes; the name unless given'),
    })
    .transform(({ answers, ...label }) => ({ ...label, answers: answers ?? [label.name] })),
);

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/**
 * The question for language models, as a task file states it. A task with `categories` has several yes-or-no answers at
 * once, and a judgement's label is their combination (see `categoryCombination`).
 */
export const judgingTaskSchema = z
  .strictObject({
    name: z.string().min(1),
    subject: z
      .string()
      .default('sequence of social media posts')
      .describe('what is judged, such as "sequence of social media posts"'),
    question: z.string().optional().describe('the question, as a language model is asked it'),
    labels: z.array(labelSchema).min(2).optional(),
    categories: z
      .array(z.strictObject({ name: z.string().min(1), description: z.string() }))
      .min(1)
      .optional(),
    implications: z
      .array(z.strictObject({ if: z.string(), implies: z.string() }))
      .default([])
      .describe('a category that applies implies another one'),
    alerts: z
      .array(z.union([z.string(), z.number(), z.boolean()]).transform(String))
      .default([])
      .describe('labels that are final when they are said early; with others a policy reads on'),
  })
  .refine(({ labels, categories }) => (labels === undefined) !== (categories === undefined), {
    error: 'a task has either labels or categories',
  })
  .refine(({ categories, implications }) => {
    const names = new Set(categories?.map(({ name }) => name));
    return implications.every((rule) => names.has(rule.if) && names.has(rule.implies));
  }, 'an implication names a category that the task does not have')
  .refine(({ labels, alerts }) => alerts.every((alert) => labels?.some(({ name }) => name === alert)), {
    path: ['alerts'],
    error: 'names a label that the task does not have',
  })
  .transform(({ question, ...task }) => ({ ...task, question: question ?? questionOf(task) }));
/** A task without its alerts, which do not change any question. */
export type JudgingTask = Omit<z.infer<typeof judgingTaskSchema>, 'alerts'>;

/** The task of a label that no file describes. */
export function judgingTaskOf({ name, labels }: { name: string; labels: readonly string[] }): JudgingTask {
  const { alerts: _, ...task } = judgingTaskSchema.parse({ name, labels });
  return task;
}

/** The default question of a task. */
function questionOf({
  name,
  subject,
  labels = [],
}: {
  name: string;
  subject: string;
  labels?: { name: string }[];
}): string {
  return labels.length === 0
    ? `Which categories apply to the ${subject}?`
    : `What is the ${name} of this ${subject}: ${labels.map((label) => label.name).join(', ')}?`;
}

/** The label of a thread that no category applies to. */
const noCategory = 'none';

/** The labels of a task's judgements: its own, or every combination of its categories. */
export function judgementLabels(task: JudgingTask): string[] {
  if (task.labels) return task.labels.map(({ name }) => name);
  return subsets(categoryNames(task)).map(combinationName);
}

function categoryNames({ categories = [] }: JudgingTask): string[] {
  return categories.map(({ name }) => name);
}

function subsets(names: readonly string[]): string[][] {
  return Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_, index) => (bits >> index) & 1));
}

/** The label for a set of categories, after applying the task's implications. */
export function categoryCombination(task: JudgingTask, present: Iterable<string>): string {
  const all = new Set(present);
  for (let before = -1; before !== all.size; ) {
    before = all.size;
    for (const rule of task.implications) if (all.has(rule.if)) all.add(rule.implies);
  }
  return combinationName(categoryNames(task).filter((name) => all.has(name)));
}

/** The categories in a combination's label. */
export function categoriesOf(label: string): string[] {
  return label === noCategory ? [] : label.split(' + ');
}

function combinationName(present: readonly string[]): string {
  return present.length === 0 ? noCategory : present.join(' + ');
}

const shipped = new URL('./', import.meta.url);
export const shippedTasks = [
  'rumor',
  'veracity',
  'rumor-veracity',
  'news',
  'checkthat4a',
  'checkthat4a-guided',
] as const;

/**
 * Reads a task that ships with Earshot, by its name, or a YAML file, by its path.
 * @throws InputError if there is no such file or it is not a task
 */
export async function loadJudgingTask(nameOrPath: string): Promise<JudgingTask> {
  const { alerts: _, ...task } = await loadTaskFile(nameOrPath);
  return task;
}

/** Reads a task together with the labels that raise an alert. */
export async function loadTaskFile(nameOrPath: string): Promise<z.output<typeof judgingTaskSchema>> {
  const isShipped = shippedTasks.some((name) => name === nameOrPath);
  const path = isShipped ? new URL(`${nameOrPath}.yaml`, shipped) : nameOrPath;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new InputError(
      `cannot read the task ${nameOrPath}: ${error instanceof Error ? error.message : error}. Give a YAML file, or one of ${shippedTasks.join(', ')}`,
    );
  }
  return checked(judgingTaskSchema, parseYaml(text, `the task ${nameOrPath} is`), `the task ${nameOrPath} is wrong`);
}

/** The answer to one question of a task: a label, or yes or no for a category. */
interface Answer {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>> | null;
}

/**
 * Combines the answers to a task's questions: one for a task of labels, otherwise one per category. The combination has
 * probabilities if all answers have.
 */
export function combinedAnswers(task: JudgingTask, answers: readonly Answer[]): Answer {
  if (task.labels) return answers[0];
  const names = categoryNames(task);
  const shares = new Map(
    answers.flatMap(({ probabilities }, index) => (probabilities === null ? [] : [[names[index], probabilities.yes]])),
  );
  return {
    label: categoryCombination(
      task,
      names.filter((_, index) => answers[index].label === 'yes'),
    ),
    probabilities: shares.size < answers.length ? null : categoryProbabilities(task, shares),
  };
}

/**
 * Probabilities of the combinations of categories, which are taken as independent. A combination that the task's
 * implications exclude adds to the one that they lead to.
 */
function categoryProbabilities(task: JudgingTask, applies: ReadonlyMap<string, number>): Record<string, number> {
  const names = categoryNames(task);
  const probabilities = Object.fromEntries(judgementLabels(task).map((label) => [label, 0]));
  for (const present of subsets(names)) {
    const shareOf = (name: string) => {
      const share = applies.get(name) ?? 0;
      return present.includes(name) ? share : 1 - share;
    };
    probabilities[categoryCombination(task, present)] += names.reduce((product, name) => product * shareOf(name), 1);
  }
  return probabilities;
}
