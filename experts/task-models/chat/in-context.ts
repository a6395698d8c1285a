import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { type ChatExample, chatExampleSchema, chooseExamples, showableExamples } from './examples.ts';
import type { ChatTuning, TuningExample } from './tuning.ts';

const stateSchema = z.strictObject({
  tuning: z.literal('in-context'),
  pretrained: z.array(chatExampleSchema),
  tuned: z.array(chatExampleSchema),
});

/** Learns by showing examples before the question; those of pretraining where there are no others. */
export function createInContextTuning(settings: {
  endpoint: Endpoint;
  shown: number;
  usePretraining: boolean;
}): ChatTuning {
  const { endpoint, shown, usePretraining } = settings;
  let pretrained: readonly ChatExample[] = [];
  let tuned: readonly ChatExample[] = [];
  const showable = (examples: readonly TuningExample[]) =>
    showableExamples({ examples: examples.map((example) => example.shown), shown });

  return {
    askedAbout({ threadId, subject }) {
      const own = chooseExamples({ examples: tuned, shown, threadId, subject });
      const examples = own.length > 0 ? own : chooseExamples({ examples: pretrained, shown, threadId, subject });
      return { endpoint, examples, trainedOn: [] };
    },
    async pretrain(examples) {
      pretrained = usePretraining ? showable(examples) : [];
      tuned = [];
    },
    async tune(examples) {
      tuned = showable(examples);
    },
    state: () => ({ tuning: 'in-context', pretrained, tuned }),
    restore(state) {
      const parsed = stateSchema.safeParse(state);
      if (!parsed.success)
        throw new InputError(
          `this is not the state of a chat model with in-context tuning:\n${z.prettifyError(parsed.error)}`,
        );
      ({ pretrained, tuned } = parsed.data);
    },
  };
}
