/*
 * Asks one address over and over, on connections that stay open, and prints what that took as JSON. A process of its own, so
 * that it can be given its own core: node --import tsx benchmarks/http-load.ts <url> <body file> <connections> <seconds>
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

const [url, bodyPath, connections, seconds] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const body = readFileSync(bodyPath);
const request = Buffer.concat([
  Buffer.from(
    `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  ),
  body,
]);
const milliseconds: number[] = [];
const started = performance.now();
const ends = started + Number(seconds) * 1000;

/** Requests one after another on one connection. */
function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname).setNoDelay();
    let sent = 0;
    let received = '';
    const send = () => {
      received = '';
      sent = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (part) => {
      received += part.toString('latin1');
      const head = received.indexOf('\r\n\r\n');
      const length = head < 0 ? null : /\r\ncontent-length: (\d+)/i.exec(received.slice(0, head));
      if (length === null || received.length < head + 4 + Number(length[1])) return;
      if (!received.startsWith('HTTP/1.1 200')) return void reject(new Error(received.slice(0, 400)));
      const now = performance.now();
      milliseconds.push(now - sent);
      if (now < ends) return send();
      socket.destroy();
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: Number(connections) }, ask));
const elapsed = performance.now() - started;
milliseconds.sort((a, b) => a - b);
const quantile = (share: number) => milliseconds[Math.floor(share * (milliseconds.length - 1))];
const count = milliseconds.length;
console.log(JSON.stringify({ count, rate: (count / elapsed) * 1000, p50: quantile(0.5), p99: quantile(0.99) }));
