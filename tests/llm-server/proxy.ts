import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** An HTTP proxy on this machine that connects everybody to one server, whatever host they ask for. */
export async function startProxy(
  baseURL: string,
  { status = '200 Connection established' } = {},
): Promise<{ readonly origin: string; readonly targets: string[] }> {
  const targets: string[] = [];
  const server = createServer();
  server.on('connect', (request, client) => {
    targets.push(request.url ?? '');
    const upstream = connect(Number(new URL(baseURL).port), '127.0.0.1', () => {
      client.write(`HTTP/1.1 ${status}\r\n\r\n`);
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
    client.on('close', () => upstream.destroy());
    onTestFinished(() => {
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, targets };
}
