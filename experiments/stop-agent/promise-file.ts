import { z } from 'zod';
import { stopPromiseSchema } from '../../checkpoints/policy/promise.ts';
import { runFile } from '../run/run-file.ts';

/** What `earshot calibrate` found for the systems of a run, by their names. */
export const promisesFile = runFile('promises.json', z.record(z.string(), stopPromiseSchema));
