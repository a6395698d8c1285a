import { confidence } from './confidence.ts';
import { influence } from './influence.ts';
import { knnShapley } from './knn-shapley.ts';
import type { SelectorName } from './names.ts';
import { random } from './random.ts';
import { regression } from './regression.ts';
import { seedAgreement } from './seed-agreement.ts';
import type { ItemSelector } from './selector.ts';
import { smallLoss } from './small-loss.ts';

/** Every selector by the name that people choose it by. */
export const selectors: Readonly<Record<SelectorName, ItemSelector>> = {
  'seed-agreement': seedAgreement,
  'knn-shapley': knnShapley,
  influence,
  regression,
  confidence,
  'small-loss': smallLoss,
  random,
};
