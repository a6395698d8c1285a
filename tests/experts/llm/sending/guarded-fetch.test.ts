import { expect, it } from 'vitest';
import { limitedText } from '../../../../experts/llm/sending/guarded-fetch.ts';

it.each([
  ['application/json; charset=iso-8859-1', 'latin1'],
  ['application/json;charset="UTF-16LE"', 'utf16le'],
  ['application/json; charset=unheard-of', 'utf8'],
  ['application/json', 'utf8'],
] as const)('a response of type %s is read as %s', async (type, encoding) => {
  const response = new Response(Buffer.from('avéré', encoding), { headers: { 'content-type': type } });
  expect(await limitedText(response, 100)).toBe('avéré');
});
