import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import { csvText } from '../../src/csv-text.ts';
import { trialId } from '../run/trial.ts';
import type { SweepPlan } from './plan.ts';
import type { TrialRow } from './trial-rows.ts';

type Cell = string | number | boolean | null;

/** All trials of a sweep, one a row: settings, seed, how it stands, scores on the development part. */
export interface TrialTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export function trialTable(plan: SweepPlan, rows: readonly TrialRow[]): TrialTable {
  const columns: readonly (readonly [name: string, of: (row: TrialRow) => Cell])[] = [
    ['trial', ({ trial }) => trialId(trial)],
    ['member', ({ setting }) => setting.name],
    ['seed', ({ trial }) => trial.seed],
    ['status', ({ status }) => status],
    ...plan.paths.map((path) => [path, ({ setting }: TrialRow) => cellOf(setting.point[path])] as const),
    ['objective', ({ objective }) => objective],
    ...plan.kind.metrics.map(
      ({ name }) => [`development.${name}`, ({ systems }: TrialRow) => systems[0]?.values[name] ?? null] as const,
    ),
    ['message', ({ message }) => message],
  ];
  return { columns: columns.map(([name]) => name), rows: rows.map((row) => columns.map(([, of]) => of(row))) };
}

function cellOf(value: unknown): Cell {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  return JSON.stringify(value);
}

export function tableCsv({ columns, rows }: TrialTable): string {
  return csvText([columns, ...rows.map((row) => row.map((cell) => String(cell ?? '')))]);
}

/** A list of objects, one a trial. */
export function tableJson({ columns, rows }: TrialTable): string {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
  return `${JSON.stringify(objects, null, 2)}\n`;
}

/** Numbers are doubles, all else is text. */
export function tableParquet({ columns, rows }: TrialTable): Uint8Array {
  const columnData = columns.map((name, index): ColumnSource => {
    const cells = rows.map((row) => row[index]);
    const isNumeric =
      cells.some((cell) => typeof cell === 'number') &&
      cells.every((cell) => cell === null || typeof cell === 'number');
    return isNumeric
      ? { name, data: cells, type: 'DOUBLE', nullable: true }
      : { name, data: cells.map((cell) => (cell === null ? null : String(cell))), type: 'STRING', nullable: true };
  });
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
