import Pbf from 'pbf';

/**
 * A token classifier small enough to check by hand: `logits = table[input_ids]`, with a WordPiece tokenizer of these
 * words. Labels in order: O, B-PER, I-PER, B-LOC.
 */
const logitsOf: Readonly<Record<string, readonly number[]>> = {
  '[PAD]': [9, 0, 0, 0],
  '[CLS]': [9, 0, 0, 0],
  '[SEP]': [9, 0, 0, 0],
  '[UNK]': [9, 0, 0, 0],
  anna: [0, 4, 0, 0],
  merk: [0, 0, 4, 0],
  '##el': [4, 0, 0, 0],
  oslo: [0, 0, 0, 4],
  maybe: [0, 1, 0, 0],
  met: [9, 0, 0, 0],
  '.': [9, 0, 0, 0],
};
const vocabulary = Object.keys(logitsOf);
const FLOAT = 1;
const INT64 = 7;

function valueInfo(pbf: Pbf, value: { name: string; type: number; shape: (string | number)[] }): void {
  pbf.writeStringField(1, value.name);
  const writeShape = (shape: typeof value.shape, message: Pbf) => {
    for (const size of shape)
      message.writeMessage(
        1,
        (own: string | number, dimension) =>
          typeof own === 'number' ? dimension.writeVarintField(1, own) : dimension.writeStringField(2, own),
        size,
      );
  };
  const writeTensorType = (own: typeof value, message: Pbf) => {
    message.writeVarintField(1, own.type);
    message.writeMessage(2, writeShape, own.shape);
  };
  pbf.writeMessage(2, (own: typeof value, message) => message.writeMessage(1, writeTensorType, own), value);
}

function onnxModel(): Uint8Array {
  const pbf = new Pbf();
  pbf.writeVarintField(1, 8);
  const writeNode = (_: undefined, node: Pbf) => {
    for (const input of ['table', 'input_ids']) node.writeStringField(1, input);
    node.writeStringField(2, 'logits');
    node.writeStringField(4, 'Gather');
  };
  const writeTable = (_: undefined, tensor: Pbf) => {
    tensor.writePackedVarint(1, [vocabulary.length, 4]);
    tensor.writeVarintField(2, FLOAT);
    tensor.writePackedFloat(4, Object.values(logitsOf).flat());
    tensor.writeStringField(8, 'table');
  };
  const writeGraph = (_: undefined, graph: Pbf) => {
    graph.writeMessage(1, writeNode, undefined);
    graph.writeStringField(2, 'tiny');
    graph.writeMessage(5, writeTable, undefined);
    const info = (value: Parameters<typeof valueInfo>[1], message: Pbf) => valueInfo(message, value);
    for (const name of ['input_ids', 'attention_mask'])
      graph.writeMessage(11, info, { name, type: INT64, shape: ['batch', 'length'] });
    graph.writeMessage(12, info, { name: 'logits', type: FLOAT, shape: ['batch', 'length', 4] });
  };
  pbf.writeMessage(7, writeGraph, undefined);
  pbf.writeMessage(8, (_: undefined, opset) => opset.writeVarintField(2, 13), undefined);
  return pbf.finish();
}

/** File contents by name, as they lie on the hub. */
export function tinyTokenClassifierFiles(): Record<string, string | Uint8Array> {
  const special = (content: string) => ({
    id: vocabulary.indexOf(content),
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  });
  return {
    'config.json': JSON.stringify({
      model_type: 'bert',
      max_position_embeddings: 200,
      id2label: { 0: 'O', 1: 'B-PER', 2: 'I-PER', 3: 'B-LOC' },
    }),
    'tokenizer.json': JSON.stringify({
      version: '1.0',
      added_tokens: ['[PAD]', '[CLS]', '[SEP]', '[UNK]'].map(special),
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
    }),
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
