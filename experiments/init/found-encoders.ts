import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import type { encoderSchema } from '../../src/text/create-encoder.ts';
import { installedWeights } from '../../src/text/installed-weights.ts';

export interface FoundEncoder {
  readonly name: string;
  /** As an experiment has it. */
  readonly config: z.input<typeof encoderSchema>;
}

/** The Universal Sentence Encoder if it is installed, transformers in `models/`, and downloaded ones. */
export function foundEncoders(): FoundEncoder[] {
  const downloads = join(homedir(), '.cache', 'earshot', 'models');
  return [
    ...(installedWeights() === null
      ? []
      : [{ name: 'universal-sentence-encoder', config: { name: 'universal-sentence-encoder' as const } }]),
    ...foldersIn('models').flatMap((name) => transformerIn(`models/${name}`, `./models/${name}`) ?? []),
    ...foldersIn(downloads).flatMap((owner) =>
      foldersIn(join(downloads, owner)).flatMap(
        (name) => transformerIn(join(downloads, owner, name), `${owner}/${name}`) ?? [],
      ),
    ),
  ];
}

/** The transformer in a folder; null without one. @param model its name in experiments */
export function transformerIn(folder: string, model: string): FoundEncoder | null {
  const has = (name: string) => existsSync(join(folder, name)) || existsSync(join(folder, 'onnx', name));
  if (!has('config.json')) return null;
  if (has('model.onnx')) return { name: model, config: { name: 'transformers', model } };
  return has('model_quantized.onnx') ? { name: model, config: { name: 'transformers', model, dtype: 'q8' } } : null;
}

function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
