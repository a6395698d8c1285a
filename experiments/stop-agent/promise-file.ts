import { stopPromiseSchema } from '../../checkpoints/bundle/promise.ts';
import { runFile } from '../run/run-file.ts';

/** What `earshot calibrate` found for the agent of a run. */
export const promiseFile = runFile('promise.json', stopPromiseSchema);
