import { join } from 'node:path';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { KeptCalls } from '../../experts/annotations/kept-calls.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import { LiveChatService } from '../../experts/llm/live-chat-service.ts';
import { createChatStanceModel } from '../../experts/task-models/chat/stance.ts';
import { createChatVeracityModel } from '../../experts/task-models/chat/veracity.ts';
import { createLocalStanceModel } from '../../experts/task-models/local/stance.ts';
import { createLocalVeracityModel } from '../../experts/task-models/local/veracity.ts';
import type { StanceItem, TaskModel, VeracityItem } from '../../experts/task-models/task-model.ts';
import { Random } from '../../src/tensor/random.ts';
import { createEncoder } from '../../src/text/create-encoder.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import { withAskingProgress } from './asking-progress.ts';
import type { SelectorExperiment } from './experiment.ts';

export interface TaskModels {
  readonly stanceModel: TaskModel<StanceItem>;
  readonly veracityModel: TaskModel<VeracityItem>;
}

/** What the language models of an experiment share: one budget, one set of connections, one store. */
export interface ModelContext {
  readonly service: ChatService;
  readonly annotations: AnnotationStore;
  /** Where fine-tuning files go unless an experiment says. */
  readonly runs: string;
  readonly onNote?: ((line: string) => void) | undefined;
  readonly onStage?: TrialHooks['onStage'] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function chatServiceOf(experiment: SelectorExperiment, signal?: AbortSignal): LiveChatService {
  return new LiveChatService({
    random: Random.seeded({ seed: 0, purpose: 'waiting times' }),
    budget: experiment.budget,
    retry: experiment.retry,
    ...(signal && { signal }),
  });
}

/** Fresh, untuned models. */
export async function createTaskModels(experiment: SelectorExperiment, context: ModelContext): Promise<TaskModels> {
  const { stanceModel, veracityModel, retry } = experiment;
  const { keptParts, ...asking } = { ...chatSettings(context), retry };
  const withProgress = { keptParts, onStage: context.onStage };
  return {
    stanceModel:
      stanceModel.name === 'chat'
        ? withAskingProgress({
            ...withProgress,
            task: 'stances',
            create: (keptParts) =>
              createChatStanceModel({ ...asking, keptParts, options: withFolder(stanceModel, context) }),
          })
        : createLocalStanceModel(await localSettings(stanceModel)),
    veracityModel:
      veracityModel.name === 'chat'
        ? withAskingProgress({
            ...withProgress,
            task: 'veracities',
            create: (keptParts) =>
              createChatVeracityModel({ ...asking, keptParts, options: withFolder(veracityModel, context) }),
          })
        : createLocalVeracityModel(await localSettings(veracityModel)),
  };
}

async function localSettings<Options extends { encoder: Parameters<typeof createEncoder>[0]; name: 'local' }>({
  name: _,
  encoder,
  ...options
}: Options) {
  return { options, encoder: await createEncoder(encoder) };
}

function chatSettings({ service, annotations, onNote, signal }: ModelContext) {
  // An answer that must be sent back is paid for, too, and kept until the one that can be read is there.
  const calls = new KeptCalls({ service, store: annotations, table: annotations.keptCalls });
  return {
    service: calls,
    keptParts: calls,
    ...(onNote && {
      onFile: ({ path, examples }: { path: string; examples: number }) =>
        onNote(`${examples} examples for fine-tuning: ${path}`),
      onStatus: (status: string) => onNote(`fine-tuning: ${status}`),
    }),
    ...(signal && { signal }),
  };
}

function withFolder<Options extends { fineTuning: { directory: string | null } }>(
  options: Options,
  { runs }: ModelContext,
): Options {
  const { fineTuning } = options;
  return {
    ...options,
    fineTuning: { ...fineTuning, directory: fineTuning.directory ?? join(runs, 'cache', 'fine-tuning') },
  };
}
