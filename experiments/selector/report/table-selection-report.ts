import { type Gain, gainOver, gainsOver, type HeldOut, macroF1OfHeldOut } from '../../../experts/selectors/held-out.ts';
import { selectors } from '../../../experts/selectors/selectors.ts';
import { counted } from '../../../src/counted.ts';
import { oneLine } from '../../../src/one-line.ts';
import { markdownOf, type ReportSection } from '../../report/report.ts';
import { directionOf, percent } from '../../report/shown-numbers.ts';
import type { Table } from '../../report/table.ts';
import type { TableSelection } from '../select-table.ts';
import { gainText, shownGain } from './gain-text.ts';

/** The worth of a selection from a table, for its conclusion, report and JSON. Null values could not be measured. */
export interface SelectionWorth {
  /** Of correct weak labels over random ones of the same classes: what a perfect selector could gain. */
  readonly room: Gain;
  /** Of the selector over a random selection of the same classes. */
  readonly overRandom: Gain;
  readonly overGoldAlone: Gain;
}

export function selectionWorth({
  crossFitted,
  gold,
  classes,
  selector,
  chosenBy,
}: TableSelection): SelectionWorth | null {
  if (crossFitted === null) return null;
  const { heldOut, room } = crossFitted;
  const over = (first: string, second: string) =>
    gainOver({ first: heldOut.get(first)!, second: heldOut.get(second)!, gold, classCount: classes.length });
  const shownName = chosenBy === 'you' ? selector : 'chosen';
  return {
    room: gainOver({ first: room.right, second: room.random, gold, classCount: classes.length }),
    overRandom: over(shownName, 'random'),
    overGoldAlone: over(shownName, 'gold-alone'),
  };
}

/** A few sentences: whether selecting is worth it, and whether the weak labels are. */
export function conclusionOnTable(
  selection: Pick<TableSelection, 'selector' | 'gold'>,
  worth: SelectionWorth | null,
): string {
  const { selector, gold } = selection;
  if (worth === null)
    return `Not measured: with ${counted(gold.length, 'gold row')} nothing tells whether a selection by ${selector} is better than a random one.`;
  const { room, overRandom, overGoldAlone } = worth;
  const rows = `${gold.length} gold rows`;
  // What selecting was shown to gain says more than the room, which the weak labels of gold rows alone are measured on.
  const harm = `Gold rows alone train a better model: ${gainText(overGoldAlone)} for adding the selection. Leave these weak labels out.`;
  const isHarm = shownOf(overGoldAlone) < 0;
  if (shownOf(room) <= 0 && shownOf(overRandom) === 0) {
    const nothing = `Nothing to gain here that ${rows} could show: neither correct weak labels (${gainText(room)}) nor a selection by ${selector} (${gainText(overRandom)}) train a measurably better model than random ones of the same classes.`;
    return isHarm ? `${harm} ${nothing}` : nothing;
  }
  const first = {
    '1': `Selecting by ${selector} is better than a random selection of the same classes (${gainText(overRandom)} on ${rows} held out in turn).`,
    '-1': `Selecting by ${selector} is worse than a random selection of the same classes (${gainText(overRandom)} on ${rows} held out in turn).`,
    '0': `There is room to gain (${gainText(room)} for right labels over random ones), but selecting by ${selector} is not measurably better than a random selection (${gainText(overRandom)} on ${rows} held out in turn).`,
  }[shownOf(overRandom)];
  const second =
    shownOf(overGoldAlone) > 0
      ? `It is also better than training on the gold rows alone (${gainText(overGoldAlone)}).`
      : `Training on the gold rows alone may be as good: ${gainText(overGoldAlone)} for adding the selection.`;
  // What to do comes first.
  return isHarm ? `${harm} ${first}` : `${first} ${second}`;
}

/** 1 where log-likelihood or macro-F1 is measurably higher and neither is lower, −1 the other way round, 0 else. */
function shownOf({ logLikelihood, macroF1 }: Gain): 1 | 0 | -1 {
  const directions = [logLikelihood, macroF1].map((metric) => directionOf(metric));
  const [isHigher, isLower] = [directions.includes(1), directions.includes(-1)];
  if (isHigher === isLower) return 0;
  return isHigher ? 1 : -1;
}

/** Shares of every class among gold rows, weak labels and the selection. */
export function classShares({ classes, gold, items }: TableSelection): Table {
  const selected = items.filter(({ isSelected }) => isSelected);
  const cell = (of: readonly { readonly label: number }[], index: number) => {
    const count = of.filter(({ label }) => label === index).length;
    return of.length === 0 ? '–' : `${count} (${percent(count / of.length)})`;
  };
  return {
    heading: ['class', 'gold rows', 'weak labels', 'selected'],
    rows: classes.map((name, index) => [name, cell(gold, index), cell(items, index), cell(selected, index)]),
  };
}

/** Items listed of the best that were taken and the worst that were left. */
const listed = 15;

export function renderTableSelection(
  selection: TableSelection,
  options: { conclusion: string; worth: SelectionWorth | null; command: string; out: string },
): string {
  const { source, columns, selector, isEncoded, chosenBy, share, seed, items, gold, warnings } = selection;
  const ranked = items.toSorted((left, right) => right.score - left.score);
  const because = {
    'cross-fitting': 'the gold rows chose it, held out in turn',
    you: 'you asked for it',
    'no gold labels': 'too few gold rows to choose by',
  }[chosenBy];
  const [best, worst] = [true, false].map((isTaken) => ranked.filter(({ isSelected }) => isSelected === isTaken));
  const goldColumn = columns.gold === null ? '' : ` (${columns.gold})`;
  return markdownOf({
    title: `Selection from ${source}`,
    conclusion: options.conclusion,
    ...{ tables: [classShares(selection)], next: [], description: '', command: options.command },
    notes: warnings.map((warning) => ({ warning: `${warning}.` })),
    facts: [
      `selected by ${selector} (${because}): ${selectors[selector].description}${isEncoded ? ', reading vectors of a sentence encoder' : ''}`,
      `${percent(share)} of every class; seed ${seed}`,
      `${items.length} rows with a weak label (${columns.label}), ${gold.length} with a gold label${goldColumn}, which are always selected`,
      `written: ${options.out}`,
    ],
    sections: [
      ...worthSection(selection, options.worth),
      { id: 'selected', title: 'Selected, best first', blocks: [itemTable(selection, best)] },
      { id: 'left-out', title: 'Left out, worst first', blocks: [itemTable(selection, worst.reverse())] },
    ],
  });
}

const trainingNames: Readonly<Record<string, string>> = {
  'gold-alone': 'gold alone, no weak label',
  all: 'gold and all weak labels',
  random: 'gold and a random selection of the same classes (the control)',
  chosen: 'gold and what cross-fitting chooses in each fold',
};

function worthSection({ crossFitted, gold, classes }: TableSelection, worth: SelectionWorth | null): ReportSection[] {
  if (crossFitted === null || worth === null) return [];
  const { heldOut, room } = crossFitted;
  const labels = Int32Array.from(gold, ({ label }) => label);
  const classCount = classes.length;
  const random = heldOut.get('random')!;
  const order = ['gold-alone', 'all', 'random', 'chosen'];
  const names = [...order, ...heldOut.keys()].filter(
    (name, place, all) => all.indexOf(name) === place && heldOut.has(name),
  );
  const cells = (record: HeldOut, gain: Gain | null) => [
    macroF1OfHeldOut(record, labels, classCount).toFixed(3),
    gain === null ? '–' : shownGain(gain.macroF1),
    gain === null ? '–' : shownGain(gain.logLikelihood),
    record.taken === 0 ? '–' : percent(record.takenRight / record.taken),
  ];
  const heading = ['trained on', 'macro-F1', 'over the control', 'log-likelihood over it'];
  const records = names.map((name) => heldOut.get(name)!);
  const gains = gainsOver({ firsts: records, second: random, gold, classCount });
  const rows = names.map((name, place) => [
    trainingNames[name] ?? `gold and ${name}`,
    ...cells(records[place], name === 'random' ? null : gains[place]),
  ]);
  const roomRows = [
    ['correct weak labels', ...cells(room.right, worth.room).slice(0, 3)],
    ['as many random ones of each class (the control)', ...cells(room.random, null).slice(0, 3)],
  ];
  const explained =
    'On gold rows held out in turn (five folds, three times): a logistic regression on TF-IDF, trained on the other gold rows and the selection. 95% intervals over gold rows. "Right" is the share of right labels among the held-out gold rows whose weak label was taken.';
  const blocks = [
    explained,
    { heading: [...heading, 'right'], rows },
    'Room, on the weak labels of gold rows alone:',
    { heading, rows: roomRows },
  ];
  return [{ id: 'worth', title: 'What it is worth', blocks }];
}

function itemTable({ classes }: TableSelection, items: TableSelection['items']): Table {
  const rows = items
    .slice(0, listed)
    .map(({ label, score, reason, text }) => [classes[label], score.toPrecision(3), reason, oneLine(text, 160)]);
  return { heading: ['label', 'score', 'reason', 'text'], rows, texts: ['reason', 'text'] };
}
