import { markdownTable } from 'markdown-table';
import { signed } from '../experiments/report/shown-numbers.ts';
import { groupBy } from '../src/data/group-by.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { crossFittingSets, setNames } from './cross-fitting-draws.ts';
import type { Line } from './cross-fitting-lines.ts';

/* Markdown tables from the runs of benchmarks/cross-fitting.ts. */

type Protocol = Line['protocol'];

const level = 0.05;
const f1 = (values: readonly number[]) => mean(values).toFixed(3);
const percent = (value: number) => `${(100 * value).toFixed(1)}%`;
const share = (values: readonly number[]) => percent(mean(values));
const errors = (lines: readonly Line[]) =>
  (['first', 'stop', 'end'] as const).map((at) => f1(lines.map(({ shipped }) => shipped[at].calibrationError)));

/** All tables that these runs allow. */
export function crossFittingTables(lines: readonly Line[]): string {
  const asInit = lines.filter(({ folds, timing }) => folds === 5 && timing === 'init');
  const tables = [
    ['Cross-fitting beside a split', besideSplit(asInit)],
    ['Expected calibration error', calibrationErrors(asInit)],
    ['Honest estimates', estimates(lines)],
    ['Learn then Test', learnThenTest(asInit)],
    ['Cross-validation', crossValidation(asInit)],
    ['Times', times(lines)],
    ['Folds', folds(lines)],
  ] as const;
  return tables
    .filter(([, table]) => table !== null)
    .map(([title, table]) => `${title}\n\n${table}`)
    .join('\n\n');
}

function tableOf(header: readonly string[], rows: readonly string[][]): string | null {
  if (rows.length === 0) return null;
  const align = header.map((_, index) => (index === 0 ? 'l' : 'r'));
  return markdownTable([[...header], ...rows], { align });
}

/** By set, in their order, then by a key; the lines of each. */
function bySetAnd<Key extends string | number>(lines: readonly Line[], keyOf: (line: Line) => Key) {
  return setNames.flatMap((set) => {
    const ofSet = lines.filter((line) => line.set === set);
    return [...groupBy(ofSet, keyOf)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, of]) => ({ title: crossFittingSets[set].title, set, key, of }));
  });
}

/** Lines of two kinds with the same set, labels and draw. */
function pairsOf(
  lines: readonly Line[],
  { first, second }: { first: (line: Line) => boolean; second: (line: Line) => boolean },
): (readonly [Line, Line])[] {
  const keyOf = ({ set, labels, draw }: Line) => JSON.stringify([set, labels, draw]);
  const others = new Map(lines.filter(second).map((line) => [keyOf(line), line]));
  return lines.filter(first).flatMap((line) => {
    const other = others.get(keyOf(line));
    return other === undefined ? [] : [[line, other] as const];
  });
}

const isOf = (protocol: Protocol) => (line: Line) => line.protocol === protocol;

function besideSplit(lines: readonly Line[]): string | null {
  const pairs = pairsOf(lines, { first: isOf('split'), second: isOf('cross-fitting') });
  const rows = bySetAnd(
    pairs.map(([split]) => split),
    ({ labels }) => labels,
  ).map(({ title, set, key }) => {
    const ofSplit = pairs.filter(([split]) => split.set === set && split.labels === key);
    const cells = [0, 1].flatMap((place) => {
      const of = ofSplit.map((pair) => pair[place].shipped);
      return [
        `${f1(of.map(({ stop }) => stop.macroF1))} at ${share(of.map(({ read }) => read))}`,
        share(of.map(({ changed }) => changed)),
        f1(of.map(({ end }) => end.macroF1)),
      ];
    });
    const gains = ofSplit.map(([split, cross]) => cross.shipped.stop.macroF1 - split.shipped.stop.macroF1);
    const range = `${signed(Math.min(...gains), 3)} to ${signed(Math.max(...gains), 3)}`;
    return [title, String(key), ...cells, signed(mean(gains), 3), range, String(ofSplit.length)];
  });
  const columns = ['macro-F1 at posts read', 'changed', 'all posts'];
  const header = ['split', 'cross-fitting'].flatMap((name) => columns.map((column) => `${name}: ${column}`));
  return tableOf(['set', 'labels', ...header, 'gain at the stop', 'gain by draw', 'draws'], rows);
}

function calibrationErrors(lines: readonly Line[]): string | null {
  const rows = bySetAnd(
    lines.filter((line) => line.protocol !== 'cross-validation'),
    ({ labels, protocol }) => `${labels} ${protocol}`,
  ).map(({ title, of }) => [title, String(of[0].labels), of[0].protocol, ...errors(of), String(of.length)]);
  return tableOf(['set', 'labels', 'protocol', 'first post', 'at the stop', 'all posts', 'draws'], rows);
}

function estimates(lines: readonly Line[]): string | null {
  const rows = bySetAnd(
    lines.filter((line) => line.timing === 'init'),
    ({ labels, protocol, folds: count }) => `${labels} ${protocol} ${protocol === 'split' ? '' : count}`,
  ).map(({ title, key, of }) => {
    const [labels, ...words] = key.trim().split(' ');
    const cells = (['stop', 'end'] as const).flatMap((at) => {
      const pairs = of.map(({ estimate, shipped }) => ({ estimate: estimate[at], fresh: shipped[at].macroF1 }));
      const covered = pairs.filter(({ estimate: { interval }, fresh }) => interval[0] <= fresh && fresh <= interval[1]);
      const onNew = of.map(({ estimate, newClaims }) => estimate[at].macroF1 - newClaims[at]);
      return [
        f1(pairs.map(({ fresh }) => fresh)),
        signed(mean(pairs.map(({ estimate, fresh }) => estimate.macroF1 - fresh)), 3),
        signed(mean(onNew), 3),
        `${covered.length} of ${of.length}`,
      ];
    });
    const fresh = [...new Set(of.map((line) => line.fresh))].sort((a, b) => a - b);
    const newClaims = mean(of.map((line) => line.newClaims.threads)).toFixed(0);
    return [title, labels, words.join(', '), ...cells, fresh.join(', '), newClaims];
  });
  const columns = ['held-out threads', 'estimate − held-out', 'estimate − new claims', '95% interval covers'];
  const header = [...columns.map((name) => `stop: ${name}`), ...columns.map((name) => `all posts: ${name}`)];
  return tableOf(['set', 'labels', 'protocol, folds', ...header, 'held-out', 'new claims'], rows);
}

function learnThenTest(lines: readonly Line[]): string | null {
  const rows = bySetAnd(
    lines.filter(({ redrawn }) => redrawn !== null),
    ({ labels, protocol }) => `${labels} ${protocol}`,
  ).map(({ title, of }) => {
    const redrawn = of.flatMap((line) => line.redrawn ?? []);
    const changed = of.map(({ shipped }) => shipped.changed);
    return [
      title,
      String(of[0].labels),
      of[0].protocol,
      String(of.length),
      String(redrawn.length),
      percent(redrawn.filter((each) => each.changed > level).length / redrawn.length),
      share(redrawn.map((each) => each.changed)),
      share(redrawn.map(({ read }) => read)),
      share(changed),
      `${changed.filter((each) => each > level).length} of ${of.length}`,
    ];
  });
  const header = [
    'set',
    'labels',
    'protocol',
    'policies',
    'calibration draws',
    'violated',
    'mean change',
    'posts read',
  ];
  return tableOf([...header, 'as shipped: mean change', 'above 5%'], rows);
}

function crossValidation(lines: readonly Line[]): string | null {
  const rows = bySetAnd(lines.filter(isOf('cross-validation')), ({ labels }) => labels).map(({ title, key, of }) => {
    const calibrated = of.filter(({ shipped }) => shipped.guarantee !== null);
    const changed = calibrated.map(({ shipped }) => shipped.changed);
    return [
      title,
      String(key),
      `${calibrated.length} of ${of.length}`,
      share(changed),
      percent(Math.max(...changed)),
      `${f1(calibrated.map(({ shipped }) => shipped.stop.macroF1))} at ${share(calibrated.map(({ shipped }) => shipped.read))}`,
      share(calibrated.map(({ estimate }) => estimate.changed)),
      share(calibrated.map(({ estimate }) => estimate.read)),
    ];
  });
  const header = ['set', 'labels', 'guarantee found', 'mean change', 'largest', 'macro-F1 at posts read'];
  return tableOf([...header, 'out of fold: change', 'out of fold: posts read'], rows);
}

/** The detector with times, as `init` writes it for so many labels, beside that without. */
function times(lines: readonly Line[]): string | null {
  const isWithout = ({ timing, folds: count }: Line) => timing === 'false' && count === 5;
  const isWith = ({ timing, folds: count }: Line) => timing === 'init' && count === 5;
  return beside(lines, { first: isWithout, second: isWith, names: ['without times', 'with times'] });
}

function folds(lines: readonly Line[]): string | null {
  const has = (count: number) => (line: Line) =>
    line.folds === count && line.timing === 'init' && line.protocol !== 'split';
  return beside(lines, { first: has(5), second: has(10), names: ['5 folds', '10 folds'] });
}

/** Two ways on the same draws. */
function beside(
  lines: readonly Line[],
  {
    first,
    second,
    names,
  }: { first: (line: Line) => boolean; second: (line: Line) => boolean; names: readonly [string, string] },
): string | null {
  const rows = bySetAnd(lines.filter(first), ({ labels, protocol }) => `${labels} ${protocol}`).flatMap(
    ({ title, of }) => {
      const ofProtocol = pairsOf(lines, {
        first: (line) => of.includes(line),
        second: (line) => second(line) && line.protocol === of[0].protocol,
      });
      if (ofProtocol.length === 0) return [];
      const cells = [0, 1].flatMap((place) => {
        const at = ofProtocol.map((pair) => pair[place]);
        return [
          f1(at.map(({ shipped }) => shipped.first.macroF1)),
          f1(at.map(({ shipped }) => shipped.stop.macroF1)),
          f1(at.map(({ shipped }) => shipped.end.macroF1)),
          share(at.map(({ shipped }) => shipped.read)),
          signed(mean(at.map(({ estimate, shipped }) => estimate.end.macroF1 - shipped.end.macroF1)), 3),
        ];
      });
      const [took, tookOther] = [0, 1].map((place) => mean(ofProtocol.map((pair) => pair[place].seconds)));
      const ratio = (tookOther / took).toFixed(1);
      return [[title, String(of[0].labels), of[0].protocol, ...cells, ratio, String(ofProtocol.length)]];
    },
  );
  const columns = ['first post', 'at the stop', 'all posts', 'posts read', 'estimate − held-out'];
  const header = names.flatMap((name) => columns.map((column) => `${name}: ${column}`));
  return tableOf(['set', 'labels', 'protocol', ...header, 'processor time, ratio', 'draws'], rows);
}
