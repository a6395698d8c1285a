import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { likeliest } from '../../src/likeliest.ts';
import { softmax } from '../../src/softmax.ts';
import { loadPretrained } from '../../src/text/load-pretrained.ts';
import { readModelConfig } from '../../src/text/locate-model.ts';
import { transformersEncoderOptionsSchema } from '../../src/text/transformers-encoder-options.ts';
import { type Entity, splitSentences } from './text-spans.ts';

export const tokenClassifierSchema = transformersEncoderOptionsSchema
  .pick({ revision: true, hub: true, cacheDirectory: true, localFilesOnly: true, dtype: true, device: true })
  .extend({
    model: z
      .string()
      .min(1)
      // The paper's dslim/bert-base-NER, in the layout that the library expects.
      .default('Xenova/bert-base-NER')
      .describe(
        'folder with config.json, tokenizer.json, tokenizer_config.json and onnx/model.onnx of a token classifier, or the id of such a model on the hub',
      ),
    maxTokens: z.int().min(8).default(512).describe('longer texts are read in windows of whole sentences'),
  });

export interface TokenClassifier {
  /** The library's version and the hashes of the files, which can change the entities. */
  readonly identity: Readonly<Record<string, unknown>>;
  classify(text: string): Promise<ClassifiedToken[]>;
}

interface WordTokens {
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly number[];
}

const labelsSchema = z.object({ id2label: z.record(z.string(), z.string()) });
const logitsSchema = z.object({ dims: z.tuple([z.literal(1), z.int(), z.int()]), data: z.instanceof(Float32Array) });

/** Splits like BERT's pre-tokenizer: runs of letters and digits, single ideographs, single other characters. */
const WORD = /\p{Script=Han}|[\p{L}\p{N}\p{M}]+|[^\s]/gu;

/**
 * Loads a pretrained model that labels tokens. Each word is tokenized on its own, so that each token's position is
 * known. WordPiece models do the same; for others the tokens may differ slightly.
 * @throws InputError if the folder holds no token classifier, ProviderError if the download fails
 */
export async function loadTokenClassifier(options: z.output<typeof tokenClassifierSchema>): Promise<TokenClassifier> {
  const { model: name, maxTokens, dtype, device } = options;
  const advice =
    'give the folder of a token classifier in ONNX as retrieval.entities.model, or recognise entities without a model ' +
    '(retrieval.entities.method: patterns)';
  const loaded = await loadPretrained(options, { kind: 'AutoModelForTokenClassification', advice });
  const { tokenizer } = loaded;
  const config = labelsSchema.safeParse(loaded.config);
  if (!config.success) throw new InputError(`${name} has no id2label in config.json; it is not a token classifier`);
  const { id2label } = config.data;
  const limit = (await readModelConfig(loaded.files)).maxTokens ?? maxTokens;
  const special = tokenizer.encode('');
  const [before, after] = special.length === 2 ? [[special[0]], [special[1]]] : [[], special];
  const room = Math.min(maxTokens, limit) - special.length;

  async function classifyWindow(words: readonly WordTokens[]): Promise<ClassifiedToken[]> {
    const ids = [...before, ...words.flatMap(({ tokens }) => tokens), ...after];
    const input = {
      ids: BigInt64Array.from(ids, BigInt),
      mask: new BigInt64Array(ids.length).fill(1n),
      shape: [1, ids.length],
    };
    return loaded.run(input, (outputs) => {
      const logits = logitsSchema.safeParse(outputs.logits);
      if (!logits.success || logits.data.dims[1] !== ids.length)
        throw new InputError(
          `${name} returns no logits as float32 [1, tokens, labels]; export the model for the task "token-classification"`,
        );
      const { data, dims } = logits.data;
      let position = before.length;
      return words.flatMap(({ start, end, tokens }) =>
        tokens.map((_, piece) => {
          const row = data.subarray(position * dims[2], (position + 1) * dims[2]);
          position++;
          const index = likeliest(row);
          const probability = softmax(row)[index];
          return { start, end, label: id2label[index] ?? 'O', probability, continuesWord: piece > 0 };
        }),
      );
    });
  }

  return {
    identity: {
      library: loaded.libraryVersion,
      files: loaded.fileHashes,
      dtype,
      device,
      maxTokens,
    },
    async classify(text) {
      const sentences = splitSentences(text).map((sentence) =>
        [...sentence.text.matchAll(WORD)].map(({ 0: word, index }): WordTokens => {
          const start = sentence.start + index;
          // Byte-level vocabularies distinguish a word after a space from one that directly follows other characters.
          const blank = start > 0 && /\s/.test(text[start - 1]) ? ' ' : '';
          const tokens = tokenizer.encode(blank + word, { add_special_tokens: false }).slice(0, room);
          return { start, end: start + word.length, tokens };
        }),
      );
      const classified: ClassifiedToken[] = [];
      for (const window of windows(sentences, room)) classified.push(...(await classifyWindow(window)));
      return classified;
    },
  };
}

/** Windows of whole sentences, as many as fit. A sentence longer than a window is cut between words. */
function windows(sentences: readonly (readonly WordTokens[])[], room: number): WordTokens[][] {
  const size = (words: readonly WordTokens[]) => words.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const all: WordTokens[][] = [];
  for (const sentence of sentences) {
    const last = all.at(-1);
    if (last !== undefined && size(last) + size(sentence) <= room) last.push(...sentence);
    else
      for (const [index, word] of sentence.entries()) {
        const open = all.at(-1);
        if (index > 0 && open !== undefined && size(open) + word.tokens.length <= room) open.push(word);
        else all.push([word]);
      }
  }
  return all;
}

/** A token's position, likeliest label and that label's probability. */
export interface ClassifiedToken {
  readonly start: number;
  readonly end: number;
  /** A label of the model's configuration: O, B-PER, I-PER, or just PER. */
  readonly label: string;
  readonly probability: number;
  /** Whether the token continues the word of the previous one. */
  readonly continuesWord: boolean;
}

/**
 * Joins consecutive entity tokens; the confidence is their mean (Eq. 2). A word is never cut: later pieces follow the
 * first one's label, because models are trained on first pieces.
 */
export function aggregateTokens({ text, tokens }: { text: string; tokens: readonly ClassifiedToken[] }): Entity[] {
  const entities: Entity[] = [];
  let open: { start: number; end: number; type: string; probabilities: number[] } | null = null;
  const close = () => {
    if (open === null) return;
    const { start, end, type, probabilities } = open;
    const confidence = probabilities.reduce((sum, value) => sum + value, 0) / probabilities.length;
    entities.push({ text: text.slice(start, end), start, end, type, confidence });
    open = null;
  };
  for (const token of tokens) {
    const [, position, type] = token.label.match(/^(?:([BIES])-)?(.+)$/) ?? [];
    if (token.continuesWord) {
      if (open === null) continue;
      open.end = token.end;
      if (type === open.type) open.probabilities.push(token.probability);
      continue;
    }
    if (type === undefined || type === 'O') close();
    else if (open !== null && open.type === type && position !== 'B' && position !== 'S') {
      open.end = token.end;
      open.probabilities.push(token.probability);
    } else {
      close();
      open = { start: token.start, end: token.end, type, probabilities: [token.probability] };
    }
  }
  close();
  return entities;
}
