import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { biasedBundle, json, limits, listening } from './small-server.ts';

const secret = 'a text that no log may hold';
const body = JSON.stringify({ posts: [{ id: 'a', text: secret }] });

const postOf = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

function open(address: string): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  // Whoever is cut off in the middle of sending hears of it by this.
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function answerOn(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(socket, 'close');
  return text;
}

it('answers nonsense, half requests and slow ones with 4xx, goes on, and logs no text', async () => {
  const { address, log } = await listening({ limits: { ...limits, requestMs: 200 } });
  const say = (text: string | Buffer) => {
    const socket = open(address);
    const answer = answerOn(socket);
    socket.write(text);
    return answer;
  };
  expect(await say(`${secret}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(await say(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  expect(await say(`${postOf('/v1/threads/t/posts', 1000)}${body}`)).toMatch(
    /^HTTP\/1\.1 408 [\s\S]*"the request did not arrive within 0\.2 s \(--request-timeout\)"/,
  );
  expect(await say(`POST /v1/threads/t/posts HTTP/1.1\r\nhost: loc`)).toMatch(/^HTTP\/1\.1 408 /);

  const slow = open(address);
  const answer = answerOn(slow);
  for (const character of `${postOf('/v1/threads/t/posts', body.length)}${body}`) {
    if (slow.destroyed) break;
    slow.write(character);
    await delay(5);
  }
  expect(await answer).toMatch(/^HTTP\/1\.1 408 /);

  const silent = open(address);
  expect(await answerOn(silent)).toMatch(/^$|^HTTP\/1\.1 408 /);
  expect((await fetch(`${address}/v2/health/ready`)).status).toBe(200);
  expect(log.join('')).not.toContain(secret);
});

it('refuses a body of 50 MB without reading it', async () => {
  const { address } = await listening();
  for (const path of ['/v1/threads/t/posts', '/v1/decide']) {
    const socket = open(address);
    const answer = answerOn(socket);
    socket.write(postOf(path, 50e6));
    socket.write(Buffer.alloc(64 * 1024, ' '));
    expect(await answer).toMatch(
      /^HTTP\/1\.1 413 [\s\S]*"the body, unpacked, has more than the 1,000,000 bytes \(1 MB\) .* --max-body"/,
    );
  }
  expect((await fetch(`${address}/v2/health/ready`)).status).toBe(200);
});

it('lets no address reach a file', async () => {
  const { address } = await listening();
  for (const path of [
    '/../../etc/passwd',
    '/v1/threads/../../../etc/passwd',
    '/v1/threads/..%2f..%2fetc%2fpasswd',
    '/v2/repository/models/%2e%2e/load',
    '/v2/repository/models//load',
    '/docs/../../package.json',
    '/docs%2f..%2fpackage.json',
    '/v1/threads/t%00',
    '/%',
    '/v1/threads/%c0%af',
    `/v1/threads/${'x'.repeat(5000)}`,
  ]) {
    const socket = open(address);
    const answer = answerOn(socket);
    // fetch would tidy the path up.
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    expect(await answer, path).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*\{"error":"[^"]/);
  }
  const id = encodeURIComponent('../../etc/passwd');
  const thread = await fetch(`${address}/v1/threads/${id}/posts`, { method: 'POST', body, headers: json });
  expect(await thread.json()).toMatchObject({ threadId: '../../etc/passwd', postsUsed: 1 });
});

it('holds 1,000 connections and answers on each', async () => {
  const { address } = await listening();
  const sockets = Array.from({ length: 1000 }, () => open(address));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const answers = sockets.map(answerOn);
  for (const socket of sockets)
    socket.write('GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
});

it('finishes 200 requests that are under way when it is told to stop', async () => {
  const { address, stop } = await listening({ folder: await biasedBundle(50), drainMs: 50 });
  const sockets = Array.from({ length: 200 }, () => open(address));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const answers = sockets.map(answerOn);
  const cut = body.length >> 1;
  // Half of each request has arrived when the server is told; the rest comes afterwards.
  for (const [index, socket] of sockets.entries())
    socket.write(postOf(`/v1/threads/t${index}/posts`, body.length) + body.slice(0, cut));
  await fetch(`${address}/v2/health/live`);
  const stopped = stop();
  for (const socket of sockets) socket.write(body.slice(cut));
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answer).toContain('"decision":"stop"');
    expect(answer.toLowerCase()).toContain('connection: close');
  }
  await stopped;
  await expect(fetch(`${address}/v2/health/live`)).rejects.toThrow();
});

it('cuts off what does not finish', async () => {
  const { address, stop } = await listening({ finishMs: 50 });
  const socket = open(address);
  const answer = answerOn(socket);
  socket.write(postOf('/v1/threads/t/posts', 1000));
  await fetch(`${address}/v2/health/live`);
  await stop();
  expect(await answer).toBe('');
});
