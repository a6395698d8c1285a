import type { RememberedCalls } from '../../experts/annotations/remembered-calls.ts';
import type { TaskModel } from '../../experts/task-models/task-model.ts';
import type { WorkContext } from '../../src/work-context.ts';

/** A prediction of fewer items is over soon, and showing it would interrupt the progress of the work it belongs to. */
const fewestItems = 100;

/** A task model that tells how many of its questions are answered, because a prediction may take hours. */
export function withAskingProgress<Item>(options: {
  /** What is asked for: "stances". */
  task: string;
  remember: RememberedCalls;
  onProgress: WorkContext['onProgress'];
  create: (remember: RememberedCalls) => TaskModel<Item>;
}): TaskModel<Item> {
  const { task, remember, onProgress, create } = options;
  let underWay: { answered: number; total: number } | null = null;
  const show = () => {
    if (underWay !== null) onProgress(`asking for ${task}`, underWay.answered, underWay.total);
  };
  const model = create({
    async remember(call, ask) {
      const answer = await remember.remember(call, ask);
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
