import { gzipSync } from 'node:zlib';
import { type CrossFitted, crossFit, type GoldRow } from '../../experts/selectors/cross-fit.ts';
import { type SelectorName, selectorNames } from '../../experts/selectors/names.ts';
import type { ItemScore, WeakLabel } from '../../experts/selectors/selector.ts';
import { selectors } from '../../experts/selectors/selectors.ts';
import { takeShare } from '../../experts/selectors/take-share.ts';
import { textFeatures, vectorFeatures } from '../../experts/selectors/text-features.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import { lookAlikes } from '../../src/data/importers/label-values.ts';
import { InputError } from '../../src/errors.ts';
import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import { Random } from '../../src/tensor/random.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { percent } from '../report/shown-numbers.ts';
import {
  type LabelColumns,
  type LabelledRow,
  type LabelTable,
  type LabelTableReading,
  readLabelTable,
  tableText,
} from './label-table.ts';

export interface TableSelection {
  readonly source: string;
  readonly columns: LabelColumns;
  readonly classes: readonly string[];
  readonly selector: SelectorName;
  /** True if selectors read vectors of an encoder instead of words. */
  readonly isEncoded: boolean;
  /** The reason for this selector. */
  readonly chosenBy: 'cross-fitting' | 'you' | 'no gold labels';
  readonly share: number;
  readonly seed: number;
  /** Rows with a weak label and no gold label. */
  readonly items: readonly (WeakLabel & ItemScore & { readonly text: string; readonly isSelected: boolean })[];
  readonly gold: readonly GoldRow[];
  /** Null without enough gold labels. */
  readonly crossFitted: CrossFitted | null;
  /** Doubts about the labels, most important first. */
  readonly warnings: readonly string[];
}

const fewestGold = 20;
const fewestOfClass = 5;
const fewestItems = 20;
/** The share of one class that causes a warning. */
const loudShare = 0.8;

export interface TableOptions extends LabelTableReading {
  path: string;
  /** Null reads TF-IDF, like the model that judges a selection. */
  encoder: Encoder | null;
  /** Null lets cross-fitting choose. */
  selector: SelectorName | null;
  share: number;
  seed: number;
  context: WorkContext;
}

/**
 * Selects weak labels of a table for training and writes its rows with the columns `selected`, `training_label`,
 * `selection_score` and `selection_reason`. Rows with a gold label are always selected.
 * @throws InputError for a table without a sensible selection
 */
export async function selectLabels(options: TableOptions & { out: string }): Promise<TableSelection> {
  const { path, columns, out, encoder, share, seed, context } = options;
  const table = await readLabelTable(path, options);
  for (const note of table.notes) context.onNote(note);
  const { classes, items, gold } = labelsOf(table, { path, columns });
  const alike = lookAlikes(classes).map(
    (forms) =>
      `${forms.map((form) => JSON.stringify(form)).join(' and ')} differ only in case and are different classes`,
  );
  const warnings = [
    ...alike,
    ...checkWeakLabels(items, { path, classes, table }),
    ...checkGold(gold, { items, classes }),
  ];
  for (const warning of warnings) context.onNote(`warning: ${warning}`);
  const usableNames = selectorNames.filter((name) => usable(name, { items, gold }));
  const selector = checkedSelector(options.selector, usableNames);
  const words = textFeatures(table.rows.map(({ text }) => text));
  const features = encoder === null ? words : await encodedRows(table.rows, { encoder, context });
  const task = { features, classCount: classes.length, items };
  if (!canBeMeasured(gold, classes.length))
    context.onNote(
      `${counted(gold.length, 'gold row')}: nothing tells whether selecting helps. Label ${fewestGold} rows or more, ${fewestOfClass} or more of each class, in a column of their own (--gold)`,
    );
  // What was asked for at random is measured beside the others.
  const names = selector === null || selector === 'random' ? usableNames : [selector];
  const crossFitted = canBeMeasured(gold, classes.length)
    ? await crossFit({
        ...{ task, words, gold, names, share, seed },
        onFold(done, total) {
          context.signal.throwIfAborted();
          context.onProgress('cross-fitting on the gold rows', done, total);
        },
      })
    : null;
  context.signal.throwIfAborted();
  const withoutGold = usableNames.includes('confidence') ? 'confidence' : 'small-loss';
  const chosen = selector ?? crossFitted?.chosen ?? (gold.length > 0 ? 'seed-agreement' : withoutGold);
  const random = Random.seeded({ seed, purpose: `selection by ${chosen}` });
  const scored = await selectors[chosen].score({ ...task, seeds: gold, random });
  const scores = scored.map(({ score }) => score);
  if (new Set(scores).size === 1)
    throw new InputError(
      `${chosen} scores all ${items.length} weak labels alike (${scores[0]}), so there is nothing to select by; give another --selector, or more gold labels`,
    );
  const taken = new Set(takeShare({ items, scores, share }));
  const selection: TableSelection = {
    source: path,
    columns,
    classes,
    selector: chosen,
    isEncoded: encoder !== null,
    chosenBy: selector !== null ? 'you' : crossFitted !== null ? 'cross-fitting' : 'no gold labels',
    share,
    seed,
    items: items.map((item, place) => ({
      ...item,
      ...scored[place],
      text: table.rows[item.row].text,
      isSelected: taken.has(place),
    })),
    gold,
    crossFitted,
    warnings,
  };
  const text = tableText(table, addedCells(table, selection));
  writeFileAtomically(out, out.endsWith('.gz') ? gzipSync(text) : text);
  return selection;
}

const encodedAtOnce = 256;

async function encodedRows(
  rows: readonly LabelledRow[],
  { encoder, context }: { encoder: Encoder; context: WorkContext },
): Promise<SparseMatrix> {
  const { dimensions } = encoder;
  const vectors = new Float32Array(rows.length * dimensions);
  for (let start = 0; start < rows.length; start += encodedAtOnce) {
    context.signal.throwIfAborted();
    const some = rows.slice(start, start + encodedAtOnce).map(({ textAlone }) => textAlone);
    vectors.set(await encoder.encode(some), start * dimensions);
    context.onProgress('encoding texts', Math.min(start + encodedAtOnce, rows.length), rows.length);
  }
  return vectorFeatures(vectors, dimensions);
}

function labelsOf({ rows }: LabelTable, { path, columns }: { path: string; columns: LabelColumns }) {
  const weakClasses = new Set(rows.flatMap(({ label }) => label ?? []));
  const goldClasses = new Set(rows.flatMap(({ gold }) => gold ?? []));
  if (goldClasses.size > 0 && ![...goldClasses].some((name) => weakClasses.has(name)))
    throw new InputError(
      `${path}: the gold labels (${[...goldClasses].slice(0, 5).join(', ')} in ${columns.gold}) and the weak labels (${[...weakClasses].slice(0, 5).join(', ')} in ${columns.label}) share no class; write both in the same words`,
    );
  const classes = [...new Set([...weakClasses, ...goldClasses])].sort();
  const weakLabelOf = (row: number): WeakLabel | null => {
    const { label, confidence } = rows[row];
    return label === null ? null : { row, label: classes.indexOf(label), confidence };
  };
  return {
    classes,
    items: rows.flatMap(({ gold }, row) => (gold === null ? (weakLabelOf(row) ?? []) : [])),
    gold: rows.flatMap(({ gold }, row): GoldRow[] =>
      gold === null ? [] : [{ row, label: classes.indexOf(gold), machine: weakLabelOf(row) }],
    ),
  };
}

/** @throws InputError if no selection could be useful for training */
function checkWeakLabels(
  items: readonly WeakLabel[],
  { path, classes, table }: { path: string; classes: readonly string[]; table: LabelTable },
): string[] {
  if (items.length < fewestItems) {
    const withGold = table.rows.filter(({ gold }) => gold !== null).length;
    const withLabel = table.rows.filter(({ label }) => label !== null).length;
    const words = table.notes.length === 0 ? '' : `. Of words that may mean nothing: ${table.notes.join('; ')}`;
    throw new InputError(
      `${path} has ${counted(items.length, 'weak label')} on rows without gold label, and at least ${fewestItems} are needed to select from: of its ${counted(table.rows.length, 'row')}, ${withLabel} have a weak label and ${withGold} a gold label${words}`,
    );
  }
  const counts = countsOf(items, classes);
  const [[name, most], second] = Object.entries(counts).sort(([, left], [, right]) => right - left);
  if (second === undefined || second[1] === 0)
    throw new InputError(
      `all ${items.length} weak labels of ${path} are ${JSON.stringify(name)}: a model trained on any selection of them predicts nothing else. Check the labeller first: a model that was never trained answers its first class everywhere`,
    );
  const share = most / items.length;
  return share < loudShare
    ? []
    : [
        `${percent(share)} of the weak labels are ${JSON.stringify(name)} (${most} of ${items.length}); a selection cannot fix labels that are nearly all the same`,
      ];
}

function checkGold(
  gold: readonly GoldRow[],
  { items, classes }: { items: readonly WeakLabel[]; classes: readonly string[] },
): string[] {
  if (gold.length === 0) return [];
  const ofMachine = countsOf(items, classes);
  const ofGold = countsOf(gold, classes);
  const missing = classes.filter((name) => ofMachine[name] === 0);
  const unknown = classes.filter((name) => ofGold[name] === 0);
  return [
    ...(missing.length === 0
      ? []
      : [`the machine never says ${missing.join(', ')}, which is a gold label: no selection brings that class back`]),
    ...(unknown.length === 0
      ? []
      : [`no gold row is ${unknown.join(', ')}, so it is unknown which of these weak labels are right`]),
  ];
}

function countsOf(labels: readonly { readonly label: number }[], classes: readonly string[]): Record<string, number> {
  return Object.fromEntries(classes.map((name, index) => [name, labels.filter(({ label }) => label === index).length]));
}

function usable(
  name: SelectorName,
  { items, gold }: { items: readonly WeakLabel[]; gold: readonly GoldRow[] },
): boolean {
  const { needs } = selectors[name];
  if (needs === 'confidence') return items.every(({ confidence }) => confidence !== null);
  return needs === 'nothing' || new Set(gold.map(({ label }) => label)).size > 1;
}

/** @throws InputError if the table lacks what the selector needs */
function checkedSelector(selector: SelectorName | null, usableNames: readonly SelectorName[]): SelectorName | null {
  if (selector === null || usableNames.includes(selector)) return selector;
  throw new InputError(
    `--selector ${selector} needs ${selectors[selector].needs === 'seeds' ? 'gold labels of at least two classes: name their column with --gold' : 'a confidence for every weak label: name its column with --confidence'}`,
  );
}

function canBeMeasured(gold: readonly GoldRow[], classCount: number): boolean {
  const counts = Array.from({ length: classCount }, (_, label) => gold.filter((row) => row.label === label).length);
  const present = counts.filter((count) => count > 0);
  return gold.length >= fewestGold && present.length > 1 && Math.min(...present) >= fewestOfClass;
}

function addedCells({ rows }: LabelTable, { items, gold, classes }: TableSelection): string[][] {
  const cells = rows.map(() => ['false', '', '', 'no label']);
  for (const { row, label } of gold) cells[row] = ['true', classes[label], '', 'gold label'];
  for (const { row, label, score, reason, isSelected } of items)
    cells[row] = [String(isSelected), isSelected ? classes[label] : '', score.toPrecision(4), reason];
  return cells;
}
