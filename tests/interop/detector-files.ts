import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DetectorFile, loadDetectorFile } from '../../experiments/config/detector-file.ts';
import { languageModelName } from './language-model-server.ts';

/** The six detectors on language models, as small as they can be, and a prompt that asks for reasons. */
export const detectorNames = [
  'single-prompt',
  'reasoned-prompt',
  's2mad',
  'debate-single',
  'debate-team',
  'debate-council',
  'zofia',
] as const;
export type DetectorName = (typeof detectorNames)[number];

/** A detector file for a small model on this machine. */
export async function detectorFileFor(name: DetectorName, { baseURL }: { baseURL: string }): Promise<DetectorFile> {
  const model = {
    name: 'small',
    baseURL,
    model: languageModelName,
    maxTokens: name === 'single-prompt' ? 24 : 160,
    temperature: 0,
    timeoutMs: 600_000,
    concurrency: 1,
  };
  const own: Record<DetectorName, object> = {
    'single-prompt': { model },
    'reasoned-prompt': { name: 'single-prompt', model, reasons: true },
    s2mad: { endpoints: { small: model }, models: { supporter: 'small' }, topComments: 3, rounds: 1 },
    'debate-single': { models: { proponent: model }, rounds: 1 },
    'debate-team': { models: { proponents: [model, model], opponents: [model, model], judge: model } },
    'debate-council': { models: { members: [model, model, model], chairperson: model } },
    zofia: {
      models: { judge: model },
      use: { web: false, wikipedia: false },
      retrieval: { entities: { method: 'patterns' } },
    },
  };
  const folder = mkdtempSync(join(tmpdir(), 'earshot-detectors-'));
  const path = join(folder, `${name}.yaml`);
  const task = name === 'zofia' ? 'news' : 'rumor';
  // JSON is YAML.
  writeFileSync(
    path,
    JSON.stringify({ detector: { name, ...own[name] }, task, retry: { maxAttempts: 2, baseMs: 50 } }),
  );
  try {
    return await loadDetectorFile(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
