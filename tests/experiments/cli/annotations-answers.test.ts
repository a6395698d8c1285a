import { expect, it } from 'vitest';
import { startServer } from '../../experts/llm/service.ts';
import { completionOf } from '../../llm-server/completion-of.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

it('annotations show says who answered, and another model than asked for is counted', async () => {
  const completion = completionOf({ reply: { text: 'Yes' }, asked: { model: 'tiny', messages: [] } });
  const server = await startServer((_body, { index }) => {
    const named = index === 0 ? { model: 'org/Tiny-2026-01-02', system_fingerprint: 'fp_7' } : { model: 'huge' };
    return { body: JSON.stringify({ ...completion, ...named }) };
  });
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', temperature: 0.5 };
  const cwd = temporaryFolder({
    'threads.jsonl': `${JSON.stringify(makeThread('t', { posts: 3 }))}\n`,
    'judge.yaml': { detector: { name: 'single-prompt', model }, task: 'rumor' },
  });
  const command = (...words: string[]) => earshot(words, { cwd });
  const judge = ['annotate', 'threads.jsonl', '--store', 's.sqlite', '--detector', 'judge.yaml', '--json'];
  expect(JSON.parse((await command(...judge)).out)).toMatchObject({
    usage: [{ answers: 3, otherAnswers: 2, otherModels: ['huge'] }],
  });
  const first = (await command('annotations', 'show', 's.sqlite', 't:1')).out;
  expect(first).toMatch(/\nAnswer 1: answered by org\/Tiny-2026-01-02, fingerprint fp_7, finish reason stop,\s+20/);
  const second = (await command('annotations', 'show', 's.sqlite', 't:2', '--raw')).out;
  expect(second).toMatch(
    /\nAnswer 1: answered by huge, though tiny was asked, finish reason stop,\s+20.*\n\{"id":"scripted".*"model":"huge"/,
  );
  const { responses } = JSON.parse((await command('annotations', 'show', 's.sqlite', 't:2', '--json')).out);
  expect(responses).toMatchObject([{ model: 'huge', askedModel: 'tiny', finishReason: 'stop' }]);
});
