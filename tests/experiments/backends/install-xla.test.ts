import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { download, wheelsFor, xlaDevices } from '../../../experiments/backends/install-xla.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';

afterEach(() => vi.unstubAllEnvs());

it('has wheels for the devices that the command offers, each with its hash', async () => {
  const { out } = await earshot(['backend', 'install', '--help'], { cwd: temporaryFolder() });
  for (const device of xlaDevices) expect(out).toContain(`"${device}"`);
  for (const device of xlaDevices.filter((name) => name !== 'metal')) {
    const { plugin, wheels } = wheelsFor(device, 'linux-x64');
    expect(plugin).toMatch(/\.so$/);
    for (const { path, sha256, size } of wheels) {
      expect(path).toMatch(/^[\da-f/]+\/[\w.]+-[\w.-]+\.whl$/);
      expect(sha256).toMatch(/^[\da-f]{64}$/);
      expect(size).toBeGreaterThan(1e6);
    }
  }
});

it('says which devices a machine has where there is no wheel', () => {
  expect(() => wheelsFor('metal', 'linux-x64')).toThrow(
    /^there is no plugin for metal on linux-x64, only on darwin-arm64; for this machine there is cuda13, .*cpu, or name a plugin/,
  );
  expect(() => wheelsFor('tpu', 'sunos-x64')).toThrow('use --set backend=onnx');
});

it('checks what it downloads', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/gone.whl') response.writeHead(404);
    response.end('a wheel');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const [file, address] = [join(temporaryFolder(), 'a.whl'), `http://127.0.0.1:${port}`];
  const sha256 = createHash('sha256').update('a wheel').digest('hex');
  await download({ path: 'a.whl', sha256 }, file, address);
  expect(readFileSync(file, 'utf8')).toBe('a wheel');
  await expect(download({ path: 'a.whl', sha256: sha256.replace(/^./, 'x') }, file, address)).rejects.toThrow(
    /a\.whl has the SHA-256 .* was expected/,
  );
  await expect(download({ path: 'gone.whl', sha256 }, file, address)).rejects.toThrow(
    /could not be fetched \(HTTP 404\)/,
  );
  server.close();
});

it('installs nothing where the file is no plugin, and keeps what was there', async () => {
  const before = '{"plugin":"/before.so","device":"cpu"}';
  const cwd = temporaryFolder({ 'plugin.json': before, 'text.so': 'no library' });
  vi.stubEnv('EARSHOT_XLA', cwd);
  const words = ['backend', 'install', 'xla'];
  const none = await earshot(words, { cwd });
  expect(none.errors).toContain('neither --device nor --plugin was given; name one: --device cuda13,');
  const wrong = await earshot([...words, '--plugin', join(cwd, 'text.so')], { cwd });
  expect(wrong.code).toBe(1);
  expect(wrong.errors).toMatch(/text\.so was not built for this machine|koffi, by which plugins are called/);
  expect(readFileSync(join(cwd, 'plugin.json'), 'utf8')).toBe(before);
  const gone = await earshot(['doctor', 'xla', '--dimensions', '8'], { cwd });
  expect(gone.out.replaceAll('\n', ' ')).toContain(
    'xla: no tensor backend could be used: xla: the plugin /before.so is gone; install it again',
  );
  expect(existsSync(join(cwd, 'cpu'))).toBe(false);
});

it('says that a file stands where the folder of plugins should be', async () => {
  const cwd = temporaryFolder({ plugins: 'a file' });
  vi.stubEnv('EARSHOT_XLA', join(cwd, 'plugins'));
  const { code, errors } = await earshot(['backend', 'install', 'xla', '--device', 'cpu'], { cwd });
  expect(code).toBe(1);
  expect(errors).toContain(`cannot make the folder ${join(cwd, 'plugins', 'cpu')} (ENOTDIR)`);
});
