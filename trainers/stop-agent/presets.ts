import type { z } from 'zod';
import type { stopAgentSchema } from './config.ts';

type StopAgentInput = z.input<typeof stopAgentSchema>;

/** Defaults by preset; what the user sets comes on top. */
export const stopAgentPresets = {
  /** The paper's text, made sound: the schema's own defaults. */
  paper: {},
  /**
   * What the authors' code (https://github.com/znhy1024/Few-Shot-EARD) does, quirks included, for reproduction:
   * demonstrations stop one post early, the state after the last post is never acted upon, one scalar normaliser, the
   * expert ratio counts both in the loss and in the choice of trajectories, the misleading set is subtracted.
   */
  published: {
    pairing: 'previous-step',
    lastPost: 'dropped',
    normalizer: 'scalar-running',
    trajectories: { ratio: 'weights' },
    gail: { misleading: 'subtract', misleadingPenalty: 'subtract' },
  },
} as const satisfies Record<string, StopAgentInput>;

export type StopAgentPreset = keyof typeof stopAgentPresets;
export const stopAgentPresetNames = ['paper', 'published'] as const satisfies readonly StopAgentPreset[];
