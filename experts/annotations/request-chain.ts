import { z } from 'zod';
import { canonicalJson, sha256OfText } from '../../src/content-hash.ts';
import { type AnnotationRequest, annotationRequestSchema } from './annotation-row.ts';
import type { AnnotationDatabase } from './database.ts';

const MAX_REMEMBERED = 50_000;

const fragmentSchema = z.object({ parent: z.string().nullable(), json: z.string() });
type Fragment = z.infer<typeof fragmentSchema>;

/**
 * Reads and writes requests in the table `fragment`. A request is a chain: its settings, then the items of its input
 * (one item unless the input is a list). The id of its last fragment identifies it.
 */
export function requestChain(database: AnnotationDatabase) {
  /** The chain written last. The next prefix of the same thread repeats it and adds to it. */
  let written: { readonly json: string; readonly id: string }[] = [];
  const remembered = new Map<string, Fragment>();

  function write(request: AnnotationRequest): string {
    const { detector, version, options, sampleIndex, input } = request;
    const list = Array.isArray(input);
    const jsons = [{ detector, version, options, sampleIndex, list }, ...(list ? input : [input])].map((item) =>
      canonicalJson(item),
    );
    let shared = 0;
    while (shared < jsons.length && written[shared]?.json === jsons[shared]) shared++;
    const chain = written.slice(0, shared);
    for (const json of jsons.slice(shared)) {
      const parent = chain.at(-1)?.id ?? null;
      const id = sha256OfText(`${parent ?? ''}\n${json}`).slice(0, 32);
      database.write('INSERT OR IGNORE INTO fragment (id, parent, json) VALUES (?, ?, ?)', id, parent, json);
      chain.push({ json, id });
    }
    written = chain;
    return chain[chain.length - 1].id;
  }

  /** Called after a rollback, which undid what was written. */
  function forgetWritten(): void {
    written = [];
  }

  function read(lastId: string): AnnotationRequest {
    const items: unknown[] = [];
    for (let id: string | null = lastId; id !== null; ) {
      const fragment = fragmentOf(id);
      items.push(JSON.parse(fragment.json));
      id = fragment.parent;
    }
    const { list, ...settings } = storedSettingsSchema.parse(items.pop());
    return { ...settings, input: list ? items.reverse() : items[0] };
  }

  function fragmentOf(id: string): Fragment {
    const cached = remembered.get(id);
    if (cached !== undefined) return cached;
    const sql = 'SELECT parent, json FROM fragment WHERE id = ?';
    const fragment = fragmentSchema.parse(database.read(sql, [id], fragmentSchema)[0]);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(id, fragment);
    return fragment;
  }

  return { write, forgetWritten, read };
}

export type RequestChain = ReturnType<typeof requestChain>;

const storedSettingsSchema = annotationRequestSchema.omit({ input: true }).extend({ list: z.boolean() });
