import { expect, it } from 'vitest';
import { limitedOutput } from '../../../experts/detectors/output-limit.ts';
import { MalformedAnswerError } from '../../../experts/llm/failures.ts';
import { quickService } from '../llm/service.ts';
import { detectorOf, prefix, role, rumorTask, startRoles, verdict } from './roles.ts';

/** A debate of five answers of 30 tokens each: two openings, two closings, a verdict. */
async function debate(most: number) {
  const said = (text: string) => ({ text, usage: { input: 10, output: 30 } });
  const server = await startRoles({ debater: said('It is so.'), judge: said(verdict('rumor')) });
  const output = limitedOutput({ service: quickService(), most });
  const models = { proponent: role(server, 'debater', { maxTokens: 70 }), judge: role(server, 'judge') };
  const config = { name: 'debate-single' as const, models, rounds: 0 };
  const detector = output.limited(await detectorOf({ config, task: rumorTask, service: output.service }));
  return { server, detector };
}

it('gives each call what the ones before have left, each judgement anew', async () => {
  const { server, detector } = await debate(150);
  const allowed = () => server.requests.map(({ body }) => body.max_tokens ?? body.max_completion_tokens);
  for (let time = 1; time <= 2; time++) {
    expect(await detector.judge(prefix(1))).toMatchObject({ label: 'rumor', usage: { outputTokens: 150 } });
    expect(allowed().slice(-5)).toEqual([70, 70, 70, 60, 30]);
  }
  expect(detector.options).toMatchObject({ maxOutputTokens: 150 });
});

it('ends a judgement that has nothing left to write, as one that cannot be read', async () => {
  const { server, detector } = await debate(120);
  const failure = await detector.judge(prefix(1)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(MalformedAnswerError);
  expect(String(failure)).toContain(
    'the 120 output tokens of the judgement were written before its end; raise maxOutputTokens',
  );
  expect(server.requests).toHaveLength(4);
});
