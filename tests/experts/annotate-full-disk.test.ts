import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { CallJournal } from '../../experts/asking/call-journal.ts';
import { InputError } from '../../src/errors.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { detectorOf, role, rumorTask, verdict } from './detectors/roles.ts';
import { quickService, startServer } from './llm/service.ts';
import { numberedThreads } from './threads.ts';

const full = () => {
  throw new InputError('the annotation store: the disk is full');
};

it('sends nothing more once a judgement could not be stored', async () => {
  const server = await startServer(() => ({ text: 'One argument.', delayMs: 30 }));
  const store = AnnotationStore.open(':memory:');
  const service = quickService({ graceMs: 0 });
  const debate = await detectorOf({
    config: { name: 'debate-single', models: { proponent: role(server, 'm') } },
    task: rumorTask,
    service,
  });
  // The first judgement comes at once and finds the disk full; the debates have hardly begun.
  const detector = {
    ...debate,
    judge: (prefix: Parameters<typeof debate.judge>[0], context: Parameters<typeof debate.judge>[1]) =>
      prefix.posts.length === 1
        ? Promise.resolve({
            label: 'rumor',
            probabilities: null,
            explanation: '',
            transcript: [],
            usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
          })
        : debate.judge(prefix, context),
  };
  const broken = { getMany: () => new Map(), put: full };
  await expect(annotate({ threads: numberedThreads(1), detector, store: broken, concurrency: 4 })).rejects.toThrow(
    'the disk is full',
  );
  // What was on its way may still arrive.
  await delay(100);
  const sent = server.requests.length;
  expect(sent).toBeLessThanOrEqual(4 * 4);
  await delay(100);
  expect(server.requests).toHaveLength(sent);
  store.close();
});

it('sends nothing more once a call could not be kept', async () => {
  const server = await startServer((body) => (body.messages[0].content.includes('JSON') ? verdict('rumor') : 'So.'));
  const store = AnnotationStore.open(`${temporaryFolder()}/judged.sqlite`);
  const table = { find: () => null, keep: full, discard: () => {} };
  const calls = new CallJournal({ service: quickService(), table });
  const detector = await detectorOf({
    config: { name: 'debate-single', models: { proponent: role(server, 'm') } },
    task: rumorTask,
    service: calls,
  });
  const annotating = annotate({ threads: numberedThreads(1), detector, store, concurrency: 4, calls });
  await expect(annotating).rejects.toThrow('the disk is full');
  await calls.settled();
  // The openings of four debates: two calls each.
  expect(server.requests.length).toBeLessThanOrEqual(8);
  store.close();
});
