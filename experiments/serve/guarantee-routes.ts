import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { guaranteeInWords } from '../../checkpoints/policy/guarantee.ts';
import { type AuditLog, alarmLevel } from './audit-log.ts';
import { HttpProblem } from './http-problem.ts';
import type { Models, ServedBundle } from './models.ts';
import { modelQuery, operations, problems } from './schemas.ts';

const guaranteeSchema = z.object({
  guarantee: z.string().describe('as a sentence'),
  level: z.number().describe('largest share of predictions that may change, or of early alerts that may be withdrawn'),
  threshold: z.number().describe('the policy stops where its score exceeds this'),
  audits: z
    .int()
    .describe('that count: up to the first thread that is still open, in the order in which threads opened'),
  changed: z
    .int()
    .describe('audited predictions that differ from those after all posts, or early alerts that these would withdraw'),
  low: z.number().describe('lower end of the confidence sequence of the share that changes, valid at any time'),
  high: z.number().describe('its upper end'),
  eValue: z.number().describe('evidence against the guarantee'),
  alarmAt: z.number().describe('the e-value of an alarm'),
  alarm: z.boolean().describe('whether the e-value has ever reached that'),
  waiting: z.int().describe('audits that opened after a thread which is still open'),
  missing: z.int().describe('audits without an end'),
});

export type AboutGuarantee = (bundle: ServedBundle) => ReturnType<AuditLog['about']>;

export function guaranteeRoutes(options: {
  models: Models;
  isAudited: boolean;
  aboutGuarantee: AboutGuarantee;
}): FastifyPluginAsyncZod {
  const { models, isAudited, aboutGuarantee } = options;
  return async (app) => {
    app.get(
      '/v1/guarantee',
      {
        schema: {
          ...operations('operation')('guarantee', 'Whether the guarantee holds'),
          description: 'From the audits of all servers that share a Redis.',
          querystring: modelQuery(models.names),
          response: { 200: guaranteeSchema, ...problems(404, 503) },
        },
      },
      async ({ query }) => {
        const about = await aboutGuarantee(models.chosen(query.model));
        if (about === null)
          throw new HttpProblem(
            404,
            isAudited
              ? 'the bundle has no guarantee about changed predictions or withdrawn alerts; `earshot calibrate` gives it one'
              : 'nothing is audited; start the server with --audit 10%',
          );
        const { guarantee, monitoring } = about;
        const { items: count, losses: changed, low, high, eValue } = monitoring.now;
        return {
          guarantee: `${guaranteeInWords(guarantee)}.`,
          level: guarantee.level,
          threshold: guarantee.threshold,
          audits: count,
          changed,
          low,
          high,
          eValue,
          alarmAt: 1 / alarmLevel,
          alarm: monitoring.alarm !== null && (guarantee.adapted ?? null) === null,
          waiting: monitoring.waiting,
          missing: monitoring.missing,
        };
      },
    );
  };
}
