import { createHash } from 'node:crypto';
import { z } from 'zod';
import { quotedIn } from '../experts/detectors/quoted.ts';
import { type ChatBody, lastMessage, type ScriptedReply } from '../llm-server/scripted-rule.ts';

const schemaSchema = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});
const formatSchema = z.object({ json_schema: z.object({ schema: schemaSchema }) });

/**
 * A model for every role of every detector, whose answer is drawn from all that it is told: any difference shows. Some
 * of its JSON has to be repaired, and what is said of "gibberish" stays unreadable.
 */
export function moodyAnswer(body: ChatBody): ScriptedReply {
  const draw = drawOf(JSON.stringify([body.model, body.messages]));
  const format = formatSchema.safeParse(body.response_format);
  const isYes = draw < 0.5;
  if (lastMessage(body).includes('Yes or No')) return { text: isYes ? 'Yes' : 'No' };
  if (!format.success) return { text: `It is ${draw}.\n${isYes ? 'rumor' : 'non-rumor'}` };
  const isRepair = /^(?:Your answer could not be used|Answer .+ only\.$)/.test(lastMessage(body));
  const isMalformed =
    quotedIn(body.messages[0].content, 'Comment').join().startsWith('gibberish') || (draw < 0.3 && !isRepair);
  return { text: isMalformed ? `{"no": ${draw}` : JSON.stringify(valueFor(format.data.json_schema.schema, `${draw}`)) };
}

function valueFor(schema: unknown, seed: string): unknown {
  const { type, enum: options, minimum = 0, maximum = 1, properties = {} } = schemaSchema.parse(schema);
  const draw = drawOf(seed);
  if (options) return options[Math.floor(draw * options.length)];
  if (type === 'number') return minimum + draw * (maximum - minimum);
  if (type === 'array') return [`item ${seed}`];
  if (type !== 'object') return `text ${seed}`;
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, valueFor(each, `${seed} ${name}`)]),
  );
}

/** In [0, 1). */
function drawOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32LE(0) / 2 ** 32;
}
