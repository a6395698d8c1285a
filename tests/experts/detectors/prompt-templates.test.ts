import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadDetectorFile } from '../../../experiments/config/detector-file.ts';
import { loadPrompts } from '../../../experts/detectors/prompt-templates.ts';
import { DryRunChatService } from '../../../experts/llm/cost/dry-run-chat-service.ts';
import { InputError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { askedOf, detectorOf, prefix, role, rumorTask, startRoles } from './roles.ts';

const shipped = new URL('../../../experts/detectors/prompts/', import.meta.url);

function own(content: object): string {
  return join(temporaryFolder({ 'own.yaml': JSON.stringify(content) }), 'own.yaml');
}

describe('prompts in a file', () => {
  it.each(readdirSync(shipped))('%s can be copied and says the same, under a key of its own', (name) => {
    const detector = name.replace('.yaml', '');
    const text = readFileSync(new URL(name, shipped), 'utf8');
    const copy = loadPrompts({ detector, path: join(temporaryFolder({ [name]: text }), name) });
    const original = loadPrompts({ detector, path: null });
    expect(copy.version).toEqual({ version: original.version, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('replace the shipped ones, with examples, and change the key', async () => {
    const server = await startRoles({ judge: 'Yes' });
    const path = own({
      version: 7,
      examples: [{ posts: ['The moon fell\ndown'], answer: 'Yes' }],
      prompts: { paper: 'Think. {examples}{posts}\n{instruction}' },
    });
    const config = { name: 'single-prompt' as const, model: role(server, 'judge') };
    const detector = await detectorOf({ config: { ...config, prompts: path }, task: rumorTask });
    await detector.judge(prefix(1));
    const [asked] = askedOf(server, 'judge');
    expect(asked).toMatch(
      /^Think\. Example 1 \(quoted.*\n<evidence>\nThe moon fell down\n<\/evidence>\nYes\n\nPosts \(quoted.*\n<evidence>\n1\. A dam broke\n<\/evidence>\nAnalyze the given /,
    );
    expect(detector.options).toMatchObject({ promptVersion: { version: 7 } });
    const shippedOnes = await detectorOf({ config, task: rumorTask, service: new DryRunChatService() });
    expect(shippedOnes.options).toMatchObject({ promptVersion: 2 });
  });

  it('do not read what posts say', () => {
    const prompts = loadPrompts({ detector: 'single-prompt', path: null });
    expect(prompts.render('paper', { instruction: '{posts}', posts: '{instruction}' })).toBe('{posts}\n{instruction}');
  });

  it.each([
    [
      { version: 1, prompts: { papre: 'x' } },
      /has a prompt "papre", which single-prompt does not know; its prompts are/,
    ],
    [{ version: 1, prompts: { paper: '{instruction}' } }, /the prompt paper lacks {posts}; it needs/],
    [
      { version: 1, prompts: { paper: '{posts} {instruction} {x}' } },
      /the prompt paper has {x}, which stands for nothing/,
    ],
    [{ prompts: {} }, /is not a file of prompts:[\s\S]*version/],
  ])('%j is an error of the user', (content, message) => {
    const load = () => loadPrompts({ detector: 'single-prompt', path: own(content) });
    expect(load).toThrow(InputError);
    expect(load).toThrow(message);
  });

  it('are looked for beside the detector file, whose prices go to its endpoints', async () => {
    const model = { baseURL: 'http://localhost:1/v1', model: 'm' };
    const folder = temporaryFolder({
      'd.yaml': JSON.stringify({
        detector: { name: 'single-prompt', model, prompts: 'p.yaml' },
        task: 'rumor',
        prices: { m: { inputPerMillion: 3 } },
      }),
    });
    const { detector } = await loadDetectorFile(join(folder, 'd.yaml'));
    expect(detector).toMatchObject({
      prompts: join(folder, 'p.yaml'),
      model: { prices: { inputPerMillion: 3, outputPerMillion: 0 } },
    });
  });
});
