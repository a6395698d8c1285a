import type { KeptParts } from '../../experts/annotations/kept-calls.ts';
import type { TaskModel } from '../../experts/task-models/task-model.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';

/** Predictions of fewer items are over soon, and would cut the progress of what they are a part of into pieces. */
const fewestItems = 100;

/** A task model that tells how many of its questions are answered, for a prediction may take hours. */
export function withAskingProgress<Item>(options: {
  /** What is asked for: "stances". */
  task: string;
  keptParts: KeptParts;
  onStage: TrialHooks['onStage'];
  create: (keptParts: KeptParts) => TaskModel<Item>;
}): TaskModel<Item> {
  const { task, keptParts, onStage, create } = options;
  if (onStage === undefined) return create(keptParts);
  let underWay: { answered: number; total: number } | null = null;
  const show = () => {
    if (underWay !== null) onStage(`asking for ${task}`, underWay.answered, underWay.total);
  };
  const model = create({
    async part(question, ask) {
      const answer = await keptParts.part(question, ask);
      // With several samples of an item there are more answers than items; the last step is shown when all is there.
      if (underWay !== null && underWay.answered < underWay.total - 1) {
        underWay.answered++;
        show();
      }
      return answer;
    },
  });
  return {
    ...model,
    async predict(items) {
      if (items.length < fewestItems) return model.predict(items);
      underWay = { answered: 0, total: items.length };
      try {
        const predictions = await model.predict(items);
        underWay.answered = underWay.total;
        show();
        return predictions;
      } finally {
        underWay = null;
      }
    },
  };
}
