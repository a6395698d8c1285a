import type { FileMetaData, SchemaElement } from 'hyparquet';

/** Converts a column's values; null for a column that needs no conversion. */
type ColumnReader = ((value: unknown) => unknown) | null;

/**
 * Reads values exactly that the library rounds or mistakes: decimals keep their digits, times of a day are texts, and
 * times without a zone in the file name none.
 * @param columns the columns of the table, which are elements of the schema
 * @returns the schema for the library, and the conversion of each column's values
 */
export function exactColumns(metadata: FileMetaData, columns: readonly SchemaElement[]) {
  const readers = new Map(columns.map((element) => [element.name, readerOf(element)]));
  const decimals = new Set(columns.filter(isDecimal));
  const schema = metadata.schema.map((element) => (decimals.has(element) ? plainElement(element) : element));
  const read = [...readers].flatMap(([name, reader]) => (reader === null ? [] : [[name, reader] as const]));
  return {
    metadata: { ...metadata, schema },
    parsers: { jsonFromBytes: (bytes: Uint8Array) => bytes, stringFromBytes: textOrBytes },
    /** Replaces a row's values by the exact ones. */
    correct(row: Record<string, unknown>): Record<string, unknown> {
      for (const [name, reader] of read)
        if (row[name] !== null && row[name] !== undefined) row[name] = reader(row[name]);
      return row;
    },
  };
}

/** Keeps a byte order mark. Bytes that are no text stay bytes, which no field takes. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOrBytes(bytes: Uint8Array | undefined): unknown {
  if (bytes === undefined) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

function readerOf(element: SchemaElement): ColumnReader {
  const { converted_type: converted, logical_type: logical } = element;
  if (isDecimal(element)) return (value) => decimalText(value, element.scale ?? 0);
  if (converted === 'JSON' || logical?.type === 'JSON') return jsonValue;
  if (converted === 'DATE' || logical?.type === 'DATE') return (value) => timeText(value, 'YYYY-MM-DD'.length);
  if (logical?.type === 'TIME') {
    const end = logical.isAdjustedToUTC ? undefined : -1;
    return (value) => timeText(new Date(millisecondsOf(value, logical.unit)), end);
  }
  if (logical?.type === 'TIMESTAMP' && !logical.isAdjustedToUTC) return (value) => timeText(value, -1);
  if (converted === 'UINT_64') return (value) => (typeof value === 'bigint' ? BigInt.asUintN(64, value) : value);
  return null;
}

function isDecimal({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL';
}

/** An element whose values are read as stored; as bytes if they would become texts. */
function plainElement(element: SchemaElement): SchemaElement {
  const isText = element.type === 'BYTE_ARRAY';
  return { ...element, converted_type: isText ? 'JSON' : undefined, logical_type: undefined };
}

function decimalText(value: unknown, scale: number): string {
  const whole =
    value instanceof Uint8Array
      ? signedInteger(value)
      : BigInt(Number.isInteger(value) ? Number(value) : String(value));
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${whole < 0n ? '-' : ''}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`}`;
}

function signedInteger(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}

function jsonValue(value: unknown): unknown {
  return value instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(value)) : value;
}

function millisecondsOf(value: unknown, unit: 'MILLIS' | 'MICROS' | 'NANOS'): number {
  return Number(value) / { MILLIS: 1, MICROS: 1e3, NANOS: 1e6 }[unit];
}

/** The beginning of a time in ISO 8601; null for an invalid time. */
function timeText(value: unknown, end: number | undefined): string | null {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString().slice(0, end) : null;
}
