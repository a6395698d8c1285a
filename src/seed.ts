import { z } from 'zod';

/** A seed of random numbers. Negative seeds would add nothing, and are mostly typing errors. */
export const seedSchema = z.int().min(0, 'a seed is a whole number from 0 up');
