import { z } from 'zod';

/** What fixes random numbers. Below 0 there would be a second name for nothing new, and most who write one mistyped. */
export const seedSchema = z.int().min(0, 'a seed is a whole number from 0 up');
