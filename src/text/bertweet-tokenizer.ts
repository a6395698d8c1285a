const SPECIAL = ['<s>', '<pad>', '</s>', '<unk>'];

/**
 * Converts BERTweet's byte-pair encoding (https://huggingface.co/vinai/bertweet-base): `vocab.txt` (pieces, with `@@`
 * if the word continues) and `bpe.codes` (merges with counts, with `</w>` at the end of a word). The published
 * tokenizer.json splits `@USER` and `:name:` at punctuation, which the model never saw in training.
 * @returns the contents of a tokenizer.json that is equivalent to the two files
 */
export function bertweetTokenizerJson(options: { vocabulary: string; merges: string }): object {
  const vocab: Record<string, number> = Object.fromEntries(SPECIAL.map((token, id) => [token, id]));
  let next = SPECIAL.length;
  for (const line of options.vocabulary.split('\n')) {
    const piece = line.slice(0, line.lastIndexOf(' ')).trim();
    if (piece !== '') vocab[piece.endsWith('@@') ? piece : `${piece}</w>`] ??= next++;
  }
  const merges = options.merges
    .split('\n')
    .map((line) => line.split(' ').slice(0, 2))
    .filter((pair) => pair.length === 2);
  return {
    added_tokens: [...SPECIAL.map((content, id) => ({ content, id })), { content: '<mask>', id: next }].map(
      (token) => ({
        ...token,
        special: true,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
      }),
    ),
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '<s>', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '</s>', type_id: 0 } },
      ],
      pair: [],
      special_tokens: {},
    },
    decoder: null,
    model: {
      type: 'BPE',
      unk_token: '<unk>',
      end_of_word_suffix: '</w>',
      continuing_subword_suffix: '@@',
      vocab,
      merges,
    },
  };
}

/** The contents of the matching tokenizer_config.json. */
export const bertweetTokenizerConfig = {
  bos_token: '<s>',
  pad_token: '<pad>',
  eos_token: '</s>',
  unk_token: '<unk>',
  sep_token: '</s>',
  mask_token: '<mask>',
};
