import type { KeptParts } from '../../experts/annotations/kept-calls.ts';
import type { TaskModel } from '../../experts/task-models/task-model.ts';
import type { WorkContext } from '../../src/work-context.ts';

/** A prediction of fewer items is over soon, and showing it would interrupt the progress of the work it belongs to. */
const fewestItems = 100;

/** A task model that tells how many of its questions are answered, because a prediction may take hours. */
export function withAskingProgress<Item>(options: {
  /** What is asked for: "stances". */
  task: string;
  keptParts: KeptParts;
  onProgress: WorkContext['onProgress'];
  create: (keptParts: KeptParts) => TaskModel<Item>;
}): TaskModel<Item> {
  const { task, keptParts, onProgress, create } = options;
  let underWay: { answered: number; total: number } | null = null;
  const show = () => {
    if (underWay !== null) onProgress(`asking for ${task}`, underWay.answered, underWay.total);
  };
  const model = create({
    async part(question, ask) {
      const answer = await keptParts.part(question, ask);
      // Several samples of an item make more answers than items, so the last step waits for the whole prediction.
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
