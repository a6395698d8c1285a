import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';

/** What was trained in a run. */
export function runKind(run: RunDirectory): unknown {
  return run.readConfig(z.looseObject({ kind: z.unknown().default('stop-agent') })).kind;
}
