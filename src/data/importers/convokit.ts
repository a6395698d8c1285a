import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../errors.ts';
import { eachOrSkip, orSkip, parseItem, type SkipOptions, unexpected } from '../bad-item.ts';
import { bytesIn, linesOf, wholeText } from '../text-lines.ts';
import type { Thread } from '../thread.ts';
import { itemsOfLines, parseJson } from '../thread-file.ts';
import { assembleThread, claimFirst } from './assemble-thread.ts';
import { filesBelow, isFile } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { foreignTime } from './read-time.ts';
import { zippedFiles } from './zip-archive.ts';

const identifier = z.union([z.string().min(1), z.int().transform(String)]);

/** Older corpora have root and user, and files have reply-to for the documentation's reply_to. */
const utteranceSchema = z
  .object({
    id: identifier,
    conversation_id: identifier.nullish(),
    root: identifier.nullish(),
    speaker: identifier.nullish(),
    user: identifier.nullish(),
    'reply-to': identifier.nullish(),
    reply_to: identifier.nullish(),
    timestamp: z.union([z.number(), z.string()]).nullish(),
    text: z.string().nullish(),
  })
  .refine((line) => line.conversation_id ?? line.root, { path: ['conversation_id'], error: 'names no conversation' });
type Utterance = z.output<typeof utteranceSchema> & { readonly time: string | null };

/** Values of the metadata by name; older corpora have them without `meta`. */
const conversationsSchema = z.record(z.string(), z.looseObject({ meta: z.record(z.string(), z.unknown()).optional() }));
const labelSchema = z
  .union([z.string(), z.number(), z.boolean()], { error: 'is no text, number or boolean' })
  .nullish();

/** https://convokit.cornell.edu/documentation/data_format.html */
export const convokitImporter: Importer = {
  name: 'convokit',
  description: 'ConvoKit corpora: conversations, with labels from their metadata by name (--label)',
  expects: 'folders or zip archives of corpora, with utterances.jsonl and, for labels, conversations.json',
  takes: ['label', 'nulls'],
  async *read(paths, options) {
    for (const path of paths) for (const corpus of await corporaAt(path)) yield* readCorpus(corpus, options);
  },
};

interface Corpus {
  readonly utterances: CorpusFile;
  readonly conversations: CorpusFile | null;
}

interface CorpusFile {
  /** The file in messages. */
  readonly place: string;
  read(): AsyncIterable<Uint8Array>;
}

async function* readCorpus(corpus: Corpus, options: ImportContext): AsyncGenerator<Thread> {
  const metadata = await metadataOf(corpus, options);
  // A conversation is yielded with its last utterance, so that few are in memory, however large the corpus.
  const missing = new Map<string, number>();
  for await (const { conversation } of utterancesOf(corpus, { skipInvalid: true }))
    missing.set(conversation, (missing.get(conversation) ?? 0) + 1);
  const open = new Map<string, Utterance[]>();
  async function* whole() {
    for await (const { conversation, utterance } of utterancesOf(corpus, options)) {
      const waiting = open.get(conversation) ?? [];
      waiting.push(utterance);
      open.set(conversation, waiting);
      if (waiting.length < (missing.get(conversation) ?? 0)) continue;
      open.delete(conversation);
      yield { conversation, utterances: waiting };
    }
  }
  yield* eachOrSkip(whole(), options, ({ conversation, utterances }) => {
    const place = `${corpus.utterances.place} conversation ${conversation}`;
    const posts = postsOf(conversation, utterances, options);
    return assembleThread({ id: conversation, ...metadata(conversation), posts }, place);
  });
}

function utterancesOf(corpus: Corpus, options: SkipOptions & Partial<Pick<ImportContext, 'count'>>) {
  const { place, read } = corpus.utterances;
  return itemsOfLines(linesOf(read(), { path: place }), { ...options, name: place }, (value, at) => {
    const utterance = parseItem(utteranceSchema, { value, place: at });
    const time = foreignTime(utterance.timestamp, { place: `${at} timestamp`, count: options.count });
    return { conversation: utterance.conversation_id ?? utterance.root ?? '', utterance: { ...utterance, time } };
  });
}

/** The posts of a conversation, the claim first. */
function postsOf(conversation: string, utterances: readonly Utterance[], { count }: ImportContext) {
  const ids = new Set(utterances.map(({ id }) => id));
  const posts = utterances.map(({ id, text, time, speaker, user, reply_to, 'reply-to': replyTo }) => ({
    id,
    text: text ?? '',
    time,
    author: speaker ?? user ?? null,
    parent: replyTo ?? reply_to ?? null,
  }));
  return claimFirst(conversation, posts).map((post, index) => {
    const isLost = index > 0 && post.parent !== null && !ids.has(post.parent);
    if (isLost) count('# utterances answer one that is not in their conversation; their parent is null');
    return { ...post, parent: index === 0 || isLost ? null : post.parent };
  });
}

/** Labels and split of a conversation. @throws InputError for a label that no conversation has */
async function metadataOf({ utterances, conversations }: Corpus, options: ImportContext) {
  const { label: labelNames = [], count } = options;
  if (conversations === null && labelNames.length > 0)
    throw new InputError(
      `${dirname(utterances.place)} has no conversations.json, so --label ${labelNames.join(',')} names nothing; import it without labels`,
    );
  const all =
    conversations &&
    (await orSkip(options, async () => {
      const { place, read } = conversations;
      const value = parseJson(await wholeText(read(), { path: place }), place);
      return parseItem(conversationsSchema, { value, place });
    }));
  const of = new Map(Object.entries(all ?? {}).map(([id, { meta, ...fields }]) => [id, meta ?? fields]));
  const names = new Set([...of.values()].flatMap((values) => Object.keys(values)).filter((name) => name !== 'vectors'));
  const unknown = labelNames.find((name) => !names.has(name));
  if (unknown !== undefined)
    throw new InputError(
      `${conversations?.place}: no conversation has metadata called ${JSON.stringify(unknown)} (--label); there is ${[...names].join(', ') || 'none'}`,
    );
  if (labelNames.length === 0 && names.size > 0)
    count(
      `no label was taken; conversations have the metadata ${[...names].join(', ')}, and --label names those to take`,
      0,
    );
  return (conversation: string): Pick<Thread, 'labels' | 'split'> => {
    const meta = of.get(conversation) ?? {};
    const labels = labelNames.flatMap((name) => {
      const value = parseItem(labelSchema, {
        value: meta[name],
        place: `${conversations?.place} ${conversation} ${name}`,
      });
      if (value === null || value === undefined) count(`# conversations have no value for ${name}`);
      return value === null || value === undefined ? [] : [[name, value] as const];
    });
    return {
      ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
      ...(typeof meta.split === 'string' && { split: meta.split }),
    };
  };
}

/** The corpus of a folder or archive, or those of its subfolders. */
async function corporaAt(path: string): Promise<Corpus[]> {
  const files = (await isFile(path))
    ? await filesOfArchive(path)
    : (await filesBelow([path])).map((place) => ({ place, read: () => bytesIn(place) }));
  const named = (name: string) => files.filter(({ place }) => basename(place) === name);
  const corpora = named('utterances.jsonl').map((utterances) => ({
    utterances,
    conversations:
      named('conversations.json').find(({ place }) => dirname(place) === dirname(utterances.place)) ?? null,
  }));
  if (corpora.length > 0) return corpora;
  throw unexpected(convokitImporter, `${path} has no utterances.jsonl`);
}

async function filesOfArchive(path: string): Promise<CorpusFile[]> {
  const files = await zippedFiles(path);
  if (files === null) throw unexpected(convokitImporter, `${path} is neither a folder nor a zip archive`);
  // macOS adds files of its own.
  const corpusFiles = files.filter(({ name }) => !name.startsWith('__MACOSX/'));
  return corpusFiles.map(({ name, read }) => ({ place: join(path, name), read }));
}
