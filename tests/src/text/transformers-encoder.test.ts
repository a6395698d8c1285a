import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEncoder } from '../../../src/text/create-encoder.ts';
import { hiddenOf, onnxModel, tinyModelFiles, vocabulary, writeModel } from './tiny-model.ts';

let root: string;
let model: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'earshot-transformers-'));
  model = await writeModel(join(root, 'tiny'), tinyModelFiles());
});

afterAll(() => rm(root, { recursive: true, force: true }));

const create = (options: object = {}) => createEncoder({ name: 'transformers', model, ...options });

function meanOf(...words: string[]): number[] {
  const vectors = words.map(hiddenOf);
  return vectors[0].map((_, element) => vectors.reduce((sum, vector) => sum + vector[element], 0) / words.length);
}

describe('transformers encoder', () => {
  it('takes the first token of a text, or the mean over its tokens without padding', async () => {
    const texts = ['Stop.', 'Continue.', 'stop now stop now .'];
    const cls = await create({ pooling: 'cls' });
    expect(cls.dimensions).toBe(3);
    expect([...(await cls.encode(texts))]).toEqual([...hiddenOf('[CLS]'), ...hiddenOf('[CLS]'), ...hiddenOf('[CLS]')]);
    const vectors = await (await create({ pooling: 'mean' })).encode(texts);
    const expected = [
      ...meanOf('[CLS]', 'stop', '.', '[SEP]'),
      ...meanOf('[CLS]', 'continue', '.', '[SEP]'),
      ...meanOf('[CLS]', 'stop', 'now', 'stop', 'now', '.', '[SEP]'),
    ];
    expect(vectors).toHaveLength(9);
    for (const [index, value] of expected.entries()) expect(vectors[index]).toBeCloseTo(value, 5);
  });

  it('gives a text the same vector whatever shares its batch', async () => {
    const texts = ['stop', 'now now now now now', '', 'continue stop', 'unknownword', '.'];
    const together = await (await create({ batchSize: 4 })).encode(texts);
    const encoder = await create({ batchSize: 1 });
    for (const [index, text] of texts.entries())
      expect(together.subarray(3 * index, 3 * index + 3)).toEqual(await encoder.encode([text]));
  });

  it('cuts long texts but keeps their last special token', async () => {
    const [first] = await (await create({ maxTokens: 4 })).encode(['stop now now now now stop']);
    expect(first).toBeCloseTo(meanOf('[CLS]', 'stop', 'now', '[SEP]')[0], 5);
  });

  it('is identified by the content of its files, not by their place', async () => {
    const before = (await create()).identity;
    const moved = join(root, 'moved');
    await rename(model, moved);
    const after = (await create({ model: moved })).identity;
    await writeFile(join(moved, 'tokenizer_config.json'), '{"tokenizer_class":"BertTokenizer","pad_token":"[PAD]"}');
    const changed = (await create({ model: moved })).identity;
    await writeModel(moved, tinyModelFiles());
    await rename(moved, model);
    expect(after).toEqual(before);
    expect(changed).not.toEqual(before);
    expect((await create({ pooling: 'cls' })).identity).not.toEqual(before);
  });

  it('reads the folders that optimum writes, with the model beside its configuration', async () => {
    const { 'onnx/model.onnx': graph, ...rest } = tinyModelFiles();
    const folder = await writeModel(join(root, 'flat'), { ...rest, 'model.onnx': graph });
    await rm(join(folder, 'onnx'), { recursive: true });
    expect(await (await create({ model: folder })).encode(['stop'])).toEqual(await (await create()).encode(['stop']));
  });

  it('reads BERTweet from its own vocabulary and merges', async () => {
    const { 'tokenizer.json': _, ...rest } = tinyModelFiles();
    const folder = await writeModel(join(root, 'bertweet'), {
      ...rest,
      'vocab.txt': 'stop 90\nno@@ 80\nw 70\n@USER 60\n',
      'bpe.codes': 's t 9\nst o 8\nsto p</w> 7\nn o 6\n@ U 5\n@U S 4\n@US E 3\n@USE R</w> 2\n',
    });
    const encoder = await create({ model: folder, normalization: 'tweet' });
    const vectors = await encoder.encode(['@somebody stop now', 'w ?']);
    // <s> 0, <pad> 1, </s> 2, <unk> 3, then the vocabulary in its order.
    const expected = [
      [0, 7, 4, 5, 6, 2],
      [0, 6, 3, 2],
    ].flatMap((ids) => meanOf(...ids.map((id) => vocabulary[id])));
    for (const [index, value] of expected.entries()) expect(vectors[index]).toBeCloseTo(value, 5);
    expect(Object.keys(encoder.identity.files ?? {})).toEqual(['config.json', 'vocab.txt', 'bpe.codes', 'model.onnx']);
  });

  it('downloads from a hub once, then works without it', async () => {
    const files = tinyModelFiles();
    let requests = 0;
    const server = createServer((request, response) => {
      requests++;
      const content = files[request.url?.replace('/maker/tiny/resolve/v1/', '') ?? ''];
      if (content === undefined) response.writeHead(404).end();
      else response.end(content);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const hub = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const options = { model: 'maker/tiny', revision: 'v1', hub, cacheDirectory: join(root, 'cache') };
    const encoder = await create(options);
    expect(await encoder.encode(['stop'])).toEqual(await (await create()).encode(['stop']));
    expect(encoder.identity).toEqual((await create()).identity);
    await expect(create({ ...options, model: 'maker/absent' })).rejects.toMatchObject({
      name: 'ProviderError',
      message: expect.stringMatching(/cannot load model maker\/absent .*Could not locate file.*check the id/),
    });
    await new Promise((resolve) => server.close(resolve));
    const before = requests;
    expect((await create({ ...options, localFilesOnly: true })).identity).toEqual(encoder.identity);
    expect(requests).toBe(before);
    await expect(create({ ...options, model: 'maker/other' })).rejects.toMatchObject({
      name: 'ProviderError',
      message: expect.stringMatching(/cannot load model maker\/other .*fetch failed.*give the path of a local folder/),
    });
  });

  it('says what to do when a model cannot be had', async () => {
    const offline = create({ model: 'maker/none', localFilesOnly: true, cacheDirectory: join(root, 'empty') });
    await expect(offline).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(/maker\/none is not complete in .*localFilesOnly: false/),
    });
    await expect(create({ model: './nowhere' })).rejects.toThrow(
      /there is no model folder .*nowhere; give an existing/,
    );
    await expect(create({ dtype: 'fp16' })).rejects.toThrow(/lacks onnx\/model_fp16\.onnx/);
    if (process.platform !== 'win32')
      await expect(create({ device: 'dml' })).rejects.toThrow(/device dml cannot run .*; set device to cpu/);
    await expect(create({ maxTokens: 512 })).rejects.toThrow(/maxTokens is 512, but .* at most 200 tokens/);
    const broken = await writeModel(join(root, 'broken'), { ...tinyModelFiles(), 'onnx/model.onnx': 'not a graph' });
    await expect(create({ model: broken })).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(/cannot load the model in .*broken/),
    });
    const classifier = await writeModel(join(root, 'classifier'), {
      ...tinyModelFiles(),
      'onnx/model.onnx': onnxModel({ outputName: 'logits' }),
    });
    await expect(create({ model: classifier })).rejects.toThrow(/returns logits as float32 .* not last_hidden_state/);
  });
});
