import { z } from 'zod';
import { guaranteeSchema } from '../../checkpoints/policy/guarantee.ts';
import { runFile } from '../run/run-file.ts';

/** What `earshot calibrate` found for the systems of a run, by their names. */
export const guaranteesFile = runFile('guarantees.json', z.record(z.string(), guaranteeSchema));
