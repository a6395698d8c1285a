import { z } from 'zod';

/** A text that was found outside the thread, and when it stood there. */
export const evidenceSchema = z.object({
  title: z.string(),
  url: z.string(),
  text: z.string(),
  date: z.string().nullable().describe('day as YYYY-MM-DD, in UTC; null where the source tells none'),
});
export type Evidence = z.infer<typeof evidenceSchema>;
