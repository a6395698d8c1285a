import { workContext } from '../../../src/work-context.ts';
import type { EpochSelection, SelectorTrainer } from '../../../trainers/selector/jsdrv.ts';

/** Trains what epochs are left, and returns what each of them showed and retained. */
export async function trainEpochs(trainer: SelectorTrainer, context = workContext()): Promise<EpochSelection[]> {
  const selections: EpochSelection[] = [];
  while (trainer.iteration < trainer.iterations) {
    await trainer.iterate(context);
    if (trainer.selection !== null) selections.push(trainer.selection);
  }
  return selections;
}
