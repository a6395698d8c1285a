import { describe, expect, it } from 'vitest';
import { accessAt } from '../../../experiments/serve/access.ts';
import { smallServer } from './small-server.ts';

const token = 'a-token-of-some-length';
const at = (host: string, more: { token?: string; noAuth?: boolean } = {}) =>
  accessAt({ host, token: more.token, variable: 'EARSHOT_TOKEN', noAuth: more.noAuth ?? false });

describe('who may ask', () => {
  it('is this machine, unless there is a token or somebody says otherwise', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1']) expect(at(host)).toEqual({ kind: 'local' });
    for (const host of ['0.0.0.0', '::', '192.168.1.2', 'example.org']) {
      expect(() => at(host)).toThrow(
        /can be reached from other machines; put a token into .* EARSHOT_TOKEN, or say --no-auth/,
      );
      expect(at(host, { token })).toEqual({ kind: 'token', token });
      expect(at(host, { noAuth: true })).toEqual({ kind: 'anybody' });
    }
    expect(at('127.0.0.1', { token })).toEqual({ kind: 'token', token });
    expect(() => at('::', { token: 'short' })).toThrow('has 5 characters; give at least 16');
  });

  it('is whoever sends the token, but for the health of the server', async () => {
    const { app } = await smallServer({ access: { kind: 'token', token } });
    const ask = async (url: string, authorization?: string) =>
      (await app.inject({ url, headers: authorization === undefined ? {} : { authorization } })).statusCode;
    const urls = [
      '/v1/guarantee',
      '/v2/repository/models/small/load',
      '/v1/threads/t',
      '/metrics',
      '/docs',
      '/openapi.json',
      '/nowhere',
    ];
    for (const url of urls) {
      for (const wrong of [
        undefined,
        'Bearer',
        'Bearer x',
        `Bearer ${token}x`,
        `Basic ${token}`,
        token,
        `Bearer ${token} x`,
      ])
        expect(await ask(url, wrong), `${url} ${wrong}`).toBe(401);
      expect(await ask(url, `bearer ${token}`), url).not.toBe(401);
    }
    expect([await ask('/v2/health/live'), await ask('/v2/health/ready')]).toEqual([200, 200]);
    const refused = await app.inject('/docs');
    expect(refused.headers['www-authenticate']).toBe('Bearer');
    expect(refused.json()).toEqual({ error: 'the bearer token is missing or wrong', field: 'authorization' });
  });

  it('is no page in a browser whose name leads to this machine', async () => {
    const { app } = await smallServer();
    const ask = async (host: string) => (await app.inject({ url: '/docs', headers: { host } })).statusCode;
    for (const host of ['localhost:8600', '127.0.0.1', '[::1]:8600']) expect(await ask(host), host).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80'])
      expect(await ask(host), host).toBe(403);
  });
});
