import { z } from 'zod';
import { type Gain, gainOver } from '../../experts/selectors/held-out.ts';
import { alikeByClass } from '../../experts/selectors/take-share.ts';
import type { StanceItem, TaskModel, VeracityItem } from '../../experts/task-models/task-model.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { veracityTask } from '../../src/data/task.ts';
import { likeliest } from '../../src/likeliest.ts';
import { Random } from '../../src/tensor/random.ts';
import { pretrainTaskModels } from '../../trainers/selector/jsdrv.ts';
import { stanceItem, wholeVeracityItems } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import { type SelectorTask, selectorTasks } from './decisions.ts';
import { gainText } from './report/gain-text.ts';
import { freshSettings, type SelectorTrial } from './selector-resources.ts';

const interval = z.strictObject({ difference: z.number(), low: z.number(), high: z.number() });
const gainSchema = z.strictObject({ macroF1: interval, logLikelihood: interval });

export const selectionRoomSchema = z
  .strictObject({ stance: gainSchema.nullable(), veracity: gainSchema.nullable() })
  .describe(
    'what correct weak labels gain over random ones of the same classes, on training threads held out in turn; null where it could not be measured',
  );
export type SelectionRoom = z.output<typeof selectionRoomSchema>;

const folds = 3;
/** Items per task, a limit on the time. */
const mostItems = 2000;
const fewestItems = 40;

/**
 * Measures, before the policy learns, how much better task models become on correct weak labels than on as many random
 * ones of every class, on threads held out in turn. It uses training labels that the selector does not see and
 * influences nothing. Null for language models, whose six tunings would cost too much.
 */
export async function measureRoom(trial: SelectorTrial): Promise<SelectionRoom | null> {
  const { experiment, seed, shared, context } = trial;
  if (experiment.stanceModel.name !== 'local' || experiment.veracityModel.name !== 'local') return null;
  const settings = await freshSettings(trial);
  const { claims, stanceModel, veracityModel } = settings;
  await pretrainTaskModels(settings);
  const threads = shared.data.train;
  const random = Random.seeded({ seed, purpose: 'room for a selection' });
  const order = [...random.permutation(threads.length)];
  const stances: Example<StanceItem>[] = order.flatMap((place) =>
    replyStances(threads[place]).flatMap((gold, post) =>
      gold < 0 ? [] : [{ item: stanceItem(claims[place], post), gold }],
    ),
  );
  const labelled = order.filter((place) => veracityTask.goldLabel(threads[place]) !== null).slice(0, mostItems);
  const items = await wholeVeracityItems(
    stanceModel,
    labelled.map((place) => claims[place]),
  );
  const veracities = labelled.map((place, index): Example<VeracityItem> => {
    return { item: items[index], gold: veracityTask.goldLabel(threads[place]) ?? -1 };
  });
  const onFold = (task: SelectorTask) => (done: number) =>
    context.onProgress(`measuring the room for a selection: ${task}`, done, folds);
  return {
    stance: await roomOf(stanceModel, { examples: stances.slice(0, mostItems), random, onFold: onFold('stance') }),
    veracity: await roomOf(veracityModel, { examples: veracities, random, onFold: onFold('veracity') }),
  };
}

interface Example<Item> {
  readonly item: Item;
  readonly gold: number;
}

async function roomOf<Item extends { readonly threadId: string }>(
  model: TaskModel<Item>,
  { examples, random, onFold }: { examples: readonly Example<Item>[]; random: Random; onFold: (done: number) => void },
): Promise<Gain | null> {
  if (examples.length < fewestItems) return null;
  const predictions = await model.predict(examples.map(({ item }) => item));
  const labelled = examples.map((example, place) => ({
    ...example,
    place,
    label: likeliest(predictions[place].distribution),
    explanation: '',
  }));
  const threads = [...groupBy(labelled, ({ item }) => item.threadId).values()];
  const foldOf = new Map(threads.map(([{ item }], index) => [item.threadId, index % folds]));
  const empty = () => ({
    predicted: [new Int32Array(examples.length)],
    logLikelihoods: [new Float64Array(examples.length)],
  });
  const arms = { right: empty(), random: empty() };
  for (let fold = 0; fold < folds; fold++) {
    const isUnseen = ({ item }: Example<Item>) => foldOf.get(item.threadId) === fold;
    const taught = labelled.filter((example) => !isUnseen(example));
    const unseen = labelled.filter(isUnseen);
    const right = taught.filter(({ gold, label }) => gold === label);
    const tunedOn = { right, random: alikeByClass(taught, { like: right, random }) };
    for (const arm of ['right', 'random'] as const) {
      await model.tune(tunedOn[arm]);
      const answers = await model.predict(unseen.map(({ item }) => item));
      for (const [index, { place, gold }] of unseen.entries()) {
        const { distribution } = answers[index];
        arms[arm].predicted[0][place] = likeliest(distribution);
        arms[arm].logLikelihoods[0][place] = Math.log(Math.max(1e-4, distribution[gold]));
      }
    }
    onFold(fold + 1);
  }
  return gainOver({
    first: arms.right,
    second: arms.random,
    gold: labelled.map(({ gold: label }) => ({ label })),
    classCount: model.classes.length,
    groups: threads.map((thread) => thread.map(({ place }) => place)),
  });
}

export function roomLines(room: SelectionRoom | null): string[] {
  if (room === null) return [];
  return selectorTasks.flatMap((task) => {
    const gain = room[task];
    if (gain === null) return [];
    const of = `correct weak labels over random ones of the same classes: ${gainText(gain)}`;
    return [gain.logLikelihood.low > 0 ? `room to gain in ${task}: ${of}` : `nothing to gain here in ${task}: ${of}`];
  });
}
