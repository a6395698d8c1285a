/*
 * What selecting machine labels gains, beside a random selection of the same classes. Usage:
 *
 *   node --import tsx benchmarks/selection.ts [--seeds 11,12,…] [--machine weak:300|noise:0.2]… [--items 3000] [--gold 200]
 *     [--share 0.5] [--csv folder] <items.jsonl>…
 *
 * A file has items with `labels.stance` and `labels.target`, or threads whose replies have stances. Of each seed it draws gold rows,
 * items and, for a weak machine, that many rows that the machine learns from; the test is the rows whose split is test, else a third of
 * the threads. A weak machine is a logistic regression on 256 hashed n-grams; noise gives that share of items a wrong label at random.
 * Every training contains the gold rows. `chosen` is what cross-fitting on the gold rows chooses, as `earshot select` does. With
 * `--csv` each seed's table is written as `labels-<seed>.csv`, and the test as `test.csv`, for the tutorial on selection.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { alikeByClass } from '../experts/selectors/alike-by-class.ts';
import { crossFit } from '../experts/selectors/cross-fit.ts';
import { selectorNames } from '../experts/selectors/names.ts';
import { fitRowClassifier, type RowExample } from '../experts/selectors/row-classifier.ts';
import { selectors } from '../experts/selectors/selectors.ts';
import { takeShare } from '../experts/selectors/take-share.ts';
import { textFeatures } from '../experts/selectors/text-features.ts';
import { makeFolder, writeFileAtomically } from '../src/atomic-file.ts';
import { bootstrapInterval } from '../src/metrics/bootstrap.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { SparseMatrixBuilder, sparseRow } from '../src/regression/sparse-matrix.ts';
import { Random } from '../src/tensor/random.ts';
import { createHashingEncoder } from '../src/text/hashing-encoder.ts';
import { workContext } from '../src/work-context.ts';

const { values: options, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '11,12,13,14,15,16,17,18,19,20' },
    machine: { type: 'string', multiple: true, default: ['weak:300'] },
    items: { type: 'string', default: '3000' },
    gold: { type: 'string', default: '200' },
    share: { type: 'string', default: '0.5' },
    csv: { type: 'string' },
  },
  allowPositionals: true,
});
const share = Number(options.share);

interface Row {
  readonly thread: string;
  readonly text: string;
  readonly about: string;
  readonly stance: string;
  readonly isTest: boolean;
}

for (const path of positionals)
  for (const machine of options.machine) {
    const gains = new Map<string, number[]>();
    const add = (name: string, value: number) => gains.set(name, [...(gains.get(name) ?? []), value]);
    for (const seed of options.seeds.split(',').map(Number))
      for (const [name, value] of Object.entries(await measure(readRows(path), { machine, seed }))) add(name, value);
    const random = gains.get('random') ?? [];
    console.log(`\n${basename(path)}, machine ${machine}, seeds ${options.seeds}\n`);
    console.log(
      markdownTable(
        [
          ['trained on gold and', 'macro-F1', 'over random of the same classes'],
          ...Array.from(gains, ([name, values]) => {
            if (name === 'machine right') return [name, mean(values).toFixed(3), ''];
            // As many right labels as there are, against as many random ones.
            const control = gains.get(`random for ${name}`) ?? random;
            const over = bootstrapInterval({
              items: values.length,
              seed: 1,
              statistic: (drawn) => mean([...drawn].map((index) => values[index] - control[index])),
            });
            return [name, mean(values).toFixed(3), [over.estimate, over.low, over.high].map(signed).join(' ')];
          }),
        ],
        { align: ['l', 'r', 'r'] },
      ),
    );
  }

async function measure(
  rows: readonly Row[],
  { machine, seed }: { machine: string; seed: number },
): Promise<Record<string, number>> {
  const random = Random.seeded({ seed, purpose: 'selection benchmark' });
  const classes = [...new Set(rows.map(({ stance }) => stance))].sort();
  const isTest = testRows(rows, random);
  const [kind, amount] = machine.split(':');
  const order = random.shuffled([...rows.keys()].filter((place) => !isTest(place)));
  const taught = order.splice(0, kind === 'weak' ? Number(amount) : 0);
  const gold = order.splice(0, Number(options.gold));
  const pool = order.slice(0, Number(options.items));
  const test = [...rows.keys()].filter(isTest);
  const used = [...taught, ...gold, ...pool, ...test];
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
      const likeliest = probabilities.indexOf(Math.max(...probabilities));
      return { row, label: likeliest, confidence: probabilities[likeliest] };
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
  if (options.csv !== undefined) writeTables(options.csv);

  const scoreOf = async (taken: readonly RowExample[]) => {
    const model = await classifierOf([...goldRows, ...taken]);
    return macroF1({
      gold: test.map(labelOf),
      predicted: test.map((place) => {
        const probabilities = model(rowOf.get(place)!);
        return probabilities.indexOf(Math.max(...probabilities));
      }),
      classes: classCount,
    });
  };
  const names = selectorNames.filter((name) => name !== 'confidence' || weak !== null);
  const task = { features, classCount, items };
  const scores: Record<string, number> = {};
  for (const name of names) {
    const own = Random.seeded({ seed, purpose: `selection by ${name}` });
    const scored = await selectors[name].score({ ...task, seeds: goldRows, random: own });
    const taken = takeShare({ items, scores: scored.map(({ score }) => score), share });
    scores[name] = await scoreOf(taken.map((place) => items[place]));
  }
  const { chosen } = await crossFit({ task, gold: goldRows, names, share, seed, context: workContext() });
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
    chosen: scores[chosen],
    ...scores,
  };

  function writeTables(folder: string): void {
    makeFolder(folder);
    const line = (cells: readonly string[]) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`;
    const isGold = new Set(gold);
    const table = [...gold, ...pool].map((place, index) => {
      const { label, confidence } = index < gold.length ? goldRows[index].machine : items[index - gold.length];
      const { text, about, stance } = rows[place];
      return line([text, about, classes[label], confidence?.toFixed(3) ?? '', isGold.has(place) ? stance : '']);
    });
    const heading = 'text,target,machine_stance,probability,stance\n';
    writeFileAtomically(join(folder, `labels-${seed}.csv`), heading + table.join(''));
    const tests = test.map((place) => line([rows[place].text, rows[place].about, rows[place].stance]));
    writeFileAtomically(join(folder, 'test.csv'), `text,target,stance\n${tests.join('')}`);
  }
}

/** Those of the official test; else a third of the threads. */
function testRows(rows: readonly Row[], random: Random): (place: number) => boolean {
  if (rows.some(({ isTest }) => isTest)) return (place) => rows[place].isTest;
  const threads = random.shuffled([...new Set(rows.map(({ thread }) => thread))]);
  const held = new Set(threads.slice(0, threads.length / 3));
  return (place) => held.has(rows[place].thread);
}

function readRows(path: string): Row[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line): Row[] => {
      const { id, text, labels, split, posts } = JSON.parse(line);
      if (posts === undefined)
        return [{ thread: id, text, about: labels.target, stance: labels.stance, isTest: split === 'test' }];
      return posts
        .slice(1)
        .flatMap((post: { text: string; stance: string | null }) =>
          post.stance === null
            ? []
            : [{ thread: id, text: post.text, about: '', stance: post.stance, isTest: split === 'test' }],
        );
    });
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

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
}
