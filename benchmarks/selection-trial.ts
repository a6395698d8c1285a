/*
 * One trial of benchmarks/selection.ts and selection-curves.ts: a machine labels items, selectors choose half of them, and a model is
 * trained on the gold rows and each selection.
 *
 * A file has items with `labels.stance` and `labels.target`, or threads whose replies have stances. Of each seed it draws gold rows,
 * items and, for a weak machine, that many rows that the machine learns from; the test is the rows whose split is test, else a third of
 * the threads; rows whose split is val are for development and left out. A weak machine is a logistic regression on 256 hashed n-grams; noise gives that share of items a wrong label at random.
 * Every training contains the gold rows. `chosen` is what cross-fitting on the gold rows chooses, as `earshot select` does.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crossFit } from '../experts/selectors/cross-fit.ts';
import { selectorNames } from '../experts/selectors/names.ts';
import { fitRowClassifier, type RowExample } from '../experts/selectors/row-classifier.ts';
import { selectors } from '../experts/selectors/selectors.ts';
import { alikeByClass, takeShare } from '../experts/selectors/take-share.ts';
import { textFeatures, vectorFeatures } from '../experts/selectors/text-features.ts';
import { makeFolder, writeFileAtomically } from '../src/atomic-file.ts';
import { csvText } from '../src/csv-text.ts';
import { likeliest } from '../src/likeliest.ts';
import { bootstrapInterval } from '../src/metrics/bootstrap.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { SparseMatrixBuilder, sparseRow } from '../src/regression/sparse-matrix.ts';
import { Random } from '../src/tensor/random.ts';
import type { Encoder } from '../src/text/encoder.ts';
import { createHashingEncoder } from '../src/text/hashing-encoder.ts';

/** A text with its human stance. */
export interface Row {
  readonly thread: string;
  readonly text: string;
  readonly about: string;
  readonly stance: string;
  readonly isTest: boolean;
}

/** The design of a trial on the rows of a file. */
export interface SelectionCell {
  /** `weak:300` or `noise:0.2`. */
  readonly machine: string;
  readonly items: number;
  readonly gold: number;
  readonly share: number;
  /** An encoder whose vectors selectors read in place of words; the trained model reads words. */
  readonly encoder?: Encoder | null;
  /** Whether `chosen` is measured, too, which takes longer than the rest. */
  readonly isChosen: boolean;
}

/**
 * Macro-F1 on the test of what was trained on the gold rows and each selection, and under `machine right` the share of right items.
 * @param options.csv folder for the seed's table, `labels-<seed>.csv`, and the test, `test.csv`
 */
export async function selectionTrial(
  rows: readonly Row[],
  options: SelectionCell & { seed: number; csv?: string | undefined },
): Promise<Record<string, number>> {
  const { machine, seed, share, encoder = null, isChosen, csv } = options;
  const random = Random.seeded({ seed, purpose: 'selection benchmark' });
  const classes = [...new Set(rows.map(({ stance }) => stance))].sort();
  const isTest = testRows(rows, random);
  const [kind, amount] = machine.split(':');
  const order = random.shuffled([...rows.keys()].filter((place) => !isTest(place)));
  const taught = order.splice(0, kind === 'weak' ? Number(amount) : 0);
  const gold = order.splice(0, options.gold);
  const pool = order.slice(0, options.items);
  const test = [...rows.keys()].filter(isTest);
  const used = [...gold, ...pool, ...test, ...taught];
  const texts = used.map((place) => `${rows[place].about.replaceAll(' ', '_')} ${rows[place].text}`);
  const rowOf = new Map(used.map((place, row) => [place, row]));
  const labelOf = (place: number) => classes.indexOf(rows[place].stance);
  const example = (place: number) => ({ row: rowOf.get(place)!, label: labelOf(place) });
  const features = textFeatures(texts);
  const classCount = classes.length;
  const classifierOf = (examples: readonly RowExample[], on = features) =>
    fitRowClassifier({ features: on, classCount, examples });

  const weak = kind === 'weak' ? await classifierOf(taught.map(example), await hashed(texts)) : null;
  const machineLabel = (place: number) => {
    const { row, label } = example(place);
    if (weak !== null) {
      const probabilities = weak(row);
      const said = likeliest(probabilities);
      return { row, label: said, confidence: probabilities[said] };
    }
    const isWrong = random.uniform() < Number(amount);
    return {
      row,
      label: isWrong ? (label + 1 + random.integer(classCount - 1)) % classCount : label,
      confidence: null,
    };
  };
  const items = pool.map(machineLabel);
  const goldRows = gold.map((place) => ({ ...example(place), machine: machineLabel(place) }));
  if (csv !== undefined) writeTables(csv);

  const scoreOf = async (taken: readonly RowExample[]) => {
    const model = await classifierOf([...goldRows, ...taken]);
    return macroF1({
      gold: test.map(labelOf),
      predicted: test.map((place) => likeliest(model(rowOf.get(place)!))),
      classes: classCount,
    });
  };
  const names = selectorNames.filter((name) => name !== 'confidence' || weak !== null);
  const read =
    encoder === null
      ? features
      : vectorFeatures(await encoder.encode([...gold, ...pool].map((place) => rows[place].text)), encoder.dimensions);
  const task = { features: read, classCount, items };
  const scores: Record<string, number> = {};
  for (const name of names) {
    const random = Random.seeded({ seed, purpose: `selection by ${name}` });
    const scored = await selectors[name].score({ ...task, seeds: goldRows, random });
    const taken = takeShare({ items, scores: scored.map(({ score }) => score), share });
    scores[name] = await scoreOf(taken.map((place) => items[place]));
  }
  const choosing = { words: features, gold: goldRows, names, share, seed, controls: false };
  const crossFitted = isChosen ? await crossFit({ task, ...choosing }) : null;
  const isRight = (place: number) => items[place].label === labelOf(pool[place]);
  const right = items.filter((_, place) => isRight(place));
  // The control of right labels: as many of each class.
  const alike = alikeByClass(items, { like: right, random });
  return {
    'machine right': right.length / items.length,
    'nothing else': await scoreOf([]),
    everything: await scoreOf(items),
    'right-labels': await scoreOf(right),
    'random for right-labels': await scoreOf(alike),
    ...(crossFitted && { chosen: scores[crossFitted.chosen] }),
    ...scores,
  };

  function writeTables(folder: string): void {
    makeFolder(folder);
    const isGold = new Set(gold);
    const table = [...gold, ...pool].map((place, index) => {
      const { label, confidence } = index < gold.length ? goldRows[index].machine : items[index - gold.length];
      const { text, about, stance } = rows[place];
      return [text, about, classes[label], confidence?.toFixed(3) ?? '', isGold.has(place) ? stance : ''];
    });
    const headings = ['text', 'target', 'machine_stance', 'probability', 'stance'];
    writeFileAtomically(join(folder, `labels-${seed}.csv`), csvText([headings, ...table]));
    const tests = test.map((place) => [rows[place].text, rows[place].about, rows[place].stance]);
    writeFileAtomically(join(folder, 'test.csv'), csvText([['text', 'target', 'stance'], ...tests]));
  }
}

/** Those of the official test; else a third of the threads. */
function testRows(rows: readonly Row[], random: Random): (place: number) => boolean {
  if (rows.some(({ isTest }) => isTest)) return (place) => rows[place].isTest;
  const threads = random.shuffled([...new Set(rows.map(({ thread }) => thread))]);
  const held = new Set(threads.slice(0, threads.length / 3));
  return (place) => held.has(rows[place].thread);
}

/** @param options.test the split that is tested; rows of `val` are left out unless they are */
export function readRows(path: string, { test = 'test' }: { test?: string } = {}): Row[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line): Row[] => {
      const { id, text, labels, split, posts } = JSON.parse(line);
      if (![test, 'train'].includes(split ?? 'train')) return [];
      if (posts === undefined)
        return [{ thread: id, text, about: labels.target, stance: labels.stance, isTest: split === test }];
      return posts
        .slice(1)
        .flatMap((post: { text: string; stance: string | null }) =>
          post.stance === null
            ? []
            : [{ thread: id, text: post.text, about: '', stance: post.stance, isTest: split === test }],
        );
    });
}

/** The rows of the test, and that many of the others, so that few texts need be encoded. */
export function sampled(rows: readonly Row[], count: number): Row[] {
  const random = Random.seeded({ seed: 7, purpose: 'sample' });
  const others = random.shuffled(rows.filter(({ isTest }) => !isTest));
  return [...rows.filter(({ isTest }) => isTest), ...others.slice(0, count)];
}

async function hashed(texts: readonly string[]) {
  const encoder = createHashingEncoder({ dimensions: 256 });
  const dense = Int32Array.from({ length: 256 }, (_, index) => index);
  const vectors = await encoder.encode(texts);
  const builder = new SparseMatrixBuilder({ columns: 257 });
  for (const index of texts.keys()) {
    builder.addRow({
      row: sparseRow({ vector: vectors.subarray(index * 256, (index + 1) * 256), dense }),
      offset: 0,
      scale: 1,
    });
    builder.add(256, 1);
    builder.endRow();
  }
  return builder.build();
}

/** The gain of trials by a selection over a random one of the same classes, with the 95% interval over them. */
export function gainOverRandom(trials: readonly Readonly<Record<string, number>>[], name: string) {
  // As many right labels as there are, against as many random ones.
  const control = `random for ${name}` in trials[0] ? `random for ${name}` : 'random';
  return bootstrapInterval({
    items: trials.length,
    seed: 1,
    statistic: (drawn) => mean([...drawn].map((index) => trials[index][name] - trials[index][control])),
  });
}
