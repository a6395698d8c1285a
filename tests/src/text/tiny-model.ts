import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Pbf from 'pbf';

/**
 * A pretrained model small enough to check by hand: `last_hidden_state = table[input_ids] · weights`, with a WordPiece
 * tokenizer of these words. Padding has a vector too, so that a mask that is ignored shows.
 */
export const vocabulary = ['[PAD]', '[CLS]', '[SEP]', '[UNK]', 'continue', 'stop', 'now', '.'];
export const table = [
  [50, -70],
  [1, 2],
  [-1, 0.5],
  [9, 9],
  [0.25, -0.5],
  [3, 4],
  [-2, 8],
  [0.125, 0],
];
export const weights = [
  [1, 0, -1],
  [2, 0.5, 0],
];

export function hiddenOf(word: string): number[] {
  const [first, second] = table[vocabulary.indexOf(word)];
  return weights[0].map((_, column) => first * weights[0][column] + second * weights[1][column]);
}

const FLOAT = 1;
const INT64 = 7;

function tensor(pbf: Pbf, value: { name: string; rows: number[][] }): void {
  pbf.writePackedVarint(1, [value.rows.length, value.rows[0].length]);
  pbf.writeVarintField(2, FLOAT);
  pbf.writePackedFloat(4, value.rows.flat());
  pbf.writeStringField(8, value.name);
}

function node(pbf: Pbf, value: { type: string; inputs: string[]; output: string }): void {
  for (const input of value.inputs) pbf.writeStringField(1, input);
  pbf.writeStringField(2, value.output);
  pbf.writeStringField(4, value.type);
}

function valueInfo(pbf: Pbf, value: { name: string; type: number; shape: (string | number)[] }): void {
  pbf.writeStringField(1, value.name);
  pbf.writeMessage(2, (_, type) => type.writeMessage(1, tensorType, value), undefined);
}

function tensorType(value: { type: number; shape: (string | number)[] }, pbf: Pbf): void {
  pbf.writeVarintField(1, value.type);
  pbf.writeMessage(
    2,
    (dimensions, shape) => {
      for (const dimension of dimensions)
        shape.writeMessage(
          1,
          (size, message) =>
            typeof size === 'number' ? message.writeVarintField(1, size) : message.writeStringField(2, size),
          dimension,
        );
    },
    value.shape,
  );
}

export function onnxModel(options: { outputName?: string } = {}): Uint8Array {
  const output = options.outputName ?? 'last_hidden_state';
  const pbf = new Pbf();
  pbf.writeVarintField(1, 8);
  pbf.writeMessage(
    7,
    (_, graph) => {
      const add = <T>(field: number, write: (pbf: Pbf, value: T) => void, value: T) =>
        graph.writeMessage(field, (item: T, inner) => write(inner, item), value);
      add(1, node, { type: 'Gather', inputs: ['table', 'input_ids'], output: 'embedded' });
      add(1, node, { type: 'MatMul', inputs: ['embedded', 'weights'], output });
      graph.writeStringField(2, 'tiny');
      add(5, tensor, { name: 'table', rows: table });
      add(5, tensor, { name: 'weights', rows: weights });
      for (const name of ['input_ids', 'attention_mask'])
        add(11, valueInfo, { name, type: INT64, shape: ['batch', 'length'] });
      add(12, valueInfo, { name: output, type: FLOAT, shape: ['batch', 'length', weights[0].length] });
    },
    undefined,
  );
  pbf.writeMessage(8, (_, opset) => opset.writeVarintField(2, 13), undefined);
  return pbf.finish();
}

const special = (names: readonly string[], ids: (name: string) => number) =>
  names.map((content) => ({
    id: ids(content),
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }));

const tokenizer = {
  version: '1.0',
  added_tokens: special(['[PAD]', '[CLS]', '[SEP]', '[UNK]'], (name) => vocabulary.indexOf(name)),
  normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [],
    special_tokens: {},
  },
  decoder: null,
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
  },
};

/** File contents by name, as they lie on the hub. */
export function tinyModelFiles(): Record<string, string | Uint8Array> {
  return {
    'config.json': JSON.stringify({ model_type: 'bert', hidden_size: 3, max_position_embeddings: 200 }),
    'tokenizer.json': JSON.stringify(tokenizer),
    'tokenizer_config.json': JSON.stringify({
      tokenizer_class: 'BertTokenizer',
      pad_token: '[PAD]',
      unk_token: '[UNK]',
      cls_token: '[CLS]',
      sep_token: '[SEP]',
      model_max_length: 200,
    }),
    'onnx/model.onnx': onnxModel(),
  };
}

export async function writeModel(folder: string, files: Record<string, string | Uint8Array>): Promise<string> {
  await mkdir(join(folder, 'onnx'), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}
