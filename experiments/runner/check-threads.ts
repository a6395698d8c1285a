import { statSync } from 'node:fs';
import { z } from 'zod';
import { readThreads } from '../../src/data/thread-file.ts';
import { indexThreadFile } from '../../src/data/thread-source.ts';
import type { OpenedExperiment } from '../kinds/experiment-kind.ts';
import { isSweep } from '../sweep/plan.ts';

/** Of larger files only the first thread is read: all would take longer than the failure of a run. */
const checkedBytes = 2 ** 26;

const skippingSchema = z.looseObject({ data: z.looseObject({ skipInvalid: z.boolean().optional() }) });

/**
 * Reads the thread files of an experiment and checks that they will do for every seed.
 * @throws InputError for what is wrong with one of them
 */
export async function checkThreads(experiment: OpenedExperiment): Promise<void> {
  const read = new Map<string, Promise<Awaited<ReturnType<typeof indexThreadFile>> | null>>();
  for (const { resolved } of experiment.members) {
    const { threadFiles, config, seeds } = resolved;
    // A split that only some settings of a sweep cannot have is their failure alone.
    const check = isSweep(experiment) ? null : resolved.checkThreads;
    const skipInvalid = skippingSchema.safeParse(config).data?.data.skipInvalid;
    for (const path of threadFiles) {
      const indexed =
        read.get(path) ?? (isSmall(path) ? indexThreadFile(path, { skipInvalid }) : firstThread(path, skipInvalid));
      read.set(path, indexed);
      const source = await indexed;
      if (source !== null && check !== null) for (const seed of seeds) await check(source.threads, seed);
    }
  }
}

function isSmall(path: string): boolean {
  // Reading a file that is not there says so.
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return size < (path.endsWith('.gz') ? checkedBytes / 8 : checkedBytes);
}

async function firstThread(path: string, skipInvalid: boolean | undefined): Promise<null> {
  for await (const _ of readThreads(path, { skipInvalid })) return null;
  return null;
}
