import type { FileHandle } from 'node:fs/promises';
import {
  type AsyncBuffer,
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  type PageHeader,
  parquetSchema,
  type SchemaTree,
} from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { readVarInt } from 'hyparquet/src/thrift.js';

/*
 * The library trusts a file: one damaged size or count keeps it busy without end, fills the memory, or fails where nobody
 * waits. So every page is compared with the metadata first, as far as the library counts by it.
 */

/** The bytes of a file. A range outside of it is an error. */
export async function bytesOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(start, end = size) {
      if (!(start >= 0 && start <= end && end <= size)) throw new Error(`bytes ${start} to ${end} are not in the file`);
      const bytes = new Uint8Array(end - start);
      await handle.read(bytes, 0, bytes.length, start);
      return bytes.buffer;
    },
  };
}

/** @throws Error for pages of other sizes or counts than the file's metadata has */
export async function checkPages(
  file: AsyncBuffer,
  { compressors, ...metadata }: FileMetaData & { compressors: Compressors },
): Promise<void> {
  const { num_rows, row_groups } = metadata;
  const rows = row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  if (rows !== num_rows) throw new Error(`it has ${num_rows} rows, and its parts ${rows}`);
  const leaves = leavesOf(parquetSchema(metadata));
  for (const { columns } of row_groups) {
    const paths = columns.map(({ meta_data }) => meta_data?.path_in_schema);
    if (
      JSON.stringify(paths) !== JSON.stringify(leaves.map((path) => path.map(({ element }) => element.name).slice(1)))
    )
      throw new Error(`it has the columns ${paths.join(', ')}, which are not those of its schema`);
    for (const [index, { meta_data }] of columns.entries())
      if (meta_data !== undefined) await checkColumn(file, { ...meta_data, schemaPath: leaves[index], compressors });
  }
}

/** The path of every leaf, from the root. */
function leavesOf(tree: SchemaTree, above: readonly SchemaTree[] = []): SchemaTree[][] {
  const path = [...above, tree];
  return tree.children.length === 0 ? [path] : tree.children.flatMap((child) => leavesOf(child, path));
}

interface Column extends ColumnMetaData {
  readonly schemaPath: SchemaTree[];
  readonly compressors: Compressors;
}

async function checkColumn(file: AsyncBuffer, column: Column): Promise<void> {
  const { dictionary_page_offset, data_page_offset, total_compressed_size, num_values, path_in_schema } = column;
  const start = Number(dictionary_page_offset || data_page_offset);
  const bytes = await file.slice(start, start + Number(total_compressed_size));
  const reader = { view: new DataView(bytes), offset: 0 };
  const wrong = (what: string) => new Error(`the column ${path_in_schema.join('.')} has ${what}`);
  let values = 0;
  // Like the library, which takes a last byte for padding.
  while (reader.offset < bytes.byteLength - 1) {
    const header = parquetHeader(reader);
    const size = header.compressed_page_size;
    if (!(size >= 0 && reader.offset + size <= bytes.byteLength)) throw wrong(`a page of ${size} bytes`);
    const page = new Uint8Array(bytes, reader.offset, size);
    reader.offset += size;
    values += (header.data_page_header ?? header.data_page_header_v2)?.num_values ?? 0;
    if (values > Number(num_values)) break;
    checkLevels(page, { header, column });
  }
  if (values !== Number(num_values)) throw wrong(`${values} values instead of ${num_values}`);
}

/** Checks the levels of a page, and its values if they are encoded like levels: by their runs. */
function checkLevels(bytes: Uint8Array, { header, column }: { header: PageHeader; column: Column }): void {
  const { data_page_header: first, data_page_header_v2: second } = header;
  const { schemaPath, codec, compressors } = column;
  const { num_values: values = 0, encoding } = first ?? second ?? {};
  const levels = [getMaxRepetitionLevel(schemaPath), getMaxDefinitionLevel(schemaPath)];
  const viewOf = (part: Uint8Array) => new DataView(part.buffer, part.byteOffset, part.byteLength);
  const unpacked = (packed: Uint8Array, size: number) => viewOf(decompressPage(packed, size, codec, compressors));
  let view = viewOf(bytes);
  let from = 0;
  const checkLevel = (most: number, length: number) => {
    if (!(length >= 0 && from + length <= view.byteLength)) throw new Error(`a page has levels of ${length} bytes`);
    if (most > 0) checkRuns(view, { from, end: from + length, bits: 32 - Math.clz32(most), values });
    from += length;
  };
  if (first !== undefined) {
    view = unpacked(bytes, header.uncompressed_page_size);
    for (const most of levels.filter((level) => level > 0)) {
      from += 4;
      checkLevel(most, view.getUint32(from - 4, true));
    }
  }
  if (second !== undefined) {
    // Levels of this version are not compressed.
    for (const [index, length] of [
      second.repetition_levels_byte_length,
      second.definition_levels_byte_length,
    ].entries())
      checkLevel(levels[index], length);
    const rest = bytes.subarray(from);
    view = second.is_compressed === false ? viewOf(rest) : unpacked(rest, header.uncompressed_page_size - from);
    from = 0;
  }
  const end = view.byteLength;
  if (encoding === 'RLE') checkRuns(view, { from: from + 4, end, bits: 1, values });
  else if (encoding?.endsWith('_DICTIONARY') && from < end)
    checkRuns(view, { from: from + 1, end, bits: view.getUint8(from), values });
}

/** @throws Error for a run that is longer than all values, which are filled up to a multiple of eight */
function checkRuns(
  view: DataView,
  { from, end, bits, values }: { from: number; end: number; bits: number; values: number },
): void {
  const reader = { view, offset: from };
  for (let read = 0; read < values && reader.offset < end; ) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    const count = isPacked ? 8 * (header >>> 1) : header >>> 1;
    if (count > values + 7) throw new Error(`a page of ${values} values repeats one ${count} times`);
    reader.offset += isPacked ? (count / 8) * bits : Math.ceil(bits / 8);
    read += count;
  }
}
