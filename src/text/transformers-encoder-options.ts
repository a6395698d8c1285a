import { z } from 'zod';

/** Options of the encoder that runs a pretrained transformer. */
export const transformersEncoderOptionsSchema = z.strictObject({
  model: z
    .string()
    .min(1)
    .default('Xenova/all-MiniLM-L6-v2')
    .describe(
      'folder with config.json, tokenizer.json, tokenizer_config.json and onnx/model.onnx, or the id of such a model on the hub',
    ),
  revision: z.string().min(1).default('main').describe('branch, tag or commit of a model on the hub'),
  hub: z.url().default('https://huggingface.co').describe('address of the model hub or of a mirror'),
  cacheDirectory: z.string().optional().describe('where downloads are kept; default ~/.cache/earshot/models'),
  localFilesOnly: z.boolean().default(false).describe('never download'),
  dtype: z
    .enum(['fp32', 'fp16', 'q8', 'int8', 'uint8', 'q4', 'q4f16', 'bnb4'])
    .default('fp32')
    .describe('precision: chooses among the files onnx/model.onnx, onnx/model_fp16.onnx, onnx/model_quantized.onnx, …'),
  device: z.enum(['cpu', 'cuda', 'dml']).default('cpu').describe('where the model runs'),
  pooling: z
    .enum(['cls', 'mean'])
    .default('mean')
    .describe('a text is the vector of its first token (cls) or the mean over its tokens'),
  maxTokens: z.int().min(2).default(128).describe('longer texts are cut, their last special token kept'),
  batchSize: z.int().min(1).default(32).describe('texts in one call of the model'),
  normalization: z
    .enum(['tweet', 'none'])
    .default('none')
    .describe('tweet: what BERTweet saw in training (@USER, HTTPURL, :emoji_name:, spaces between tokens)'),
});

export type TransformersEncoderOptions = z.infer<typeof transformersEncoderOptionsSchema>;
