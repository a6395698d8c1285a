import { describe, expect, it } from 'vitest';
import { startServer } from '../../llm/service.ts';
import { claim, rounded, shownClaim, veracityModel } from './models.ts';

describe('the chat veracity model', () => {
  it('asks about a claim with its posts and their stances, as the paper words it', async () => {
    const server = await startServer(() => 'Nobody knows.\nUnverified Rumor');
    const model = veracityModel({
      server,
      endpoint: { concurrency: 1 },
      options: { smoothing: 0, maxPosts: 4 },
    });
    expect(model.classes).toEqual(['non-rumor', 'true', 'false', 'unverified']);
    const item = claim('The dam broke', 'dam', [
      { text: 'I saw\nit', stance: Float64Array.of(0.6, 0.2, 0.1, 0.1) },
      { text: 'No', stance: Float64Array.of(0.1, 0.9, 0, 0) },
      { text: 'Who says so?', stance: Float64Array.of(0.25, 0.25, 0.25, 0.25) },
      { text: 'Hello', stance: null },
      { text: 'too many', stance: null },
    ]);
    const [{ distribution, explanation }, other] = await model.predict([item, claim('Alone', 'alone')]);
    expect([...distribution]).toEqual([0, 0, 0, 1]);
    expect(explanation).toBe('Nobody knows.');
    expect([...other.distribution]).toEqual([0, 0, 0, 1]);
    const [asked, alone] = server.requests.map(({ body }) => body.messages[0].content);
    expect(asked).toMatch(/Determine the veracity of the claim, and explain your reasoning/);
    const posts = ['1 (Support): I saw it', '2 (Deny): No', '3: Who says so?', '4: Hello'];
    const form =
      'End with a line of its own that is exactly one of these: Non-Rumor, True Rumor, False Rumor or Unverified Rumor.';
    expect(asked.endsWith(`${form}\n\n${shownClaim('The dam broke', ...posts)}`)).toBe(true);
    expect(alone.endsWith(shownClaim('Alone', '(none)'))).toBe(true);
  });

  it('takes the distribution from the tokens, also where a class is several of them', async () => {
    const tokens: Record<string, number>[] = [
      { 'none 🌊\n': 1 },
      { '**': 1 },
      { False: 0.5, True: 0.25, Non: 0.125, Un: 0.125 },
      { ' Rumor': 1 },
      { '**': 1 },
    ];
    const server = await startServer(() => ({ text: 'none 🌊\n**False Rumor**', tokens }));
    const [{ distribution }] = await veracityModel({ server }).predict([claim('c', 't')]);
    expect(rounded(distribution)).toEqual([0.125, 0.25, 0.5, 0.125]);
  });

  it('shows other claims with fewer posts, and never the same claim', async () => {
    const server = await startServer(() => 'Non-Rumor');
    const model = veracityModel({ server, options: { maxExamplePosts: 1 } });
    const posts = ['p', 'q'].map((text) => ({ text, stance: Float64Array.of(1, 0, 0, 0) }));
    await model.tune([
      { item: claim('one', 'a', posts), label: 2, explanation: 'It was denied.' },
      { item: claim('same', 'b', posts), label: 1, explanation: '' },
    ]);
    await model.predict([claim('same', 'c', posts)]);
    const [{ body }] = server.requests;
    expect(body.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'It was denied.\nFalse Rumor' },
      { role: 'user', content: shownClaim('same', '1 (Support): p', '2 (Support): q') },
    ]);
    expect(body.messages[0].content.endsWith(`\n\n${shownClaim('one', '1 (Support): p')}`)).toBe(true);
  });

  it('asks nothing anew where stances moved but say the same', async () => {
    const server = await startServer(() => 'True');
    const model = veracityModel({ server });
    const with_ = (...stance: number[]) => claim('c', 't', [{ text: 'p', stance: Float64Array.from(stance) }]);
    await model.predict([with_(0.6, 0.4, 0, 0), with_(0.7, 0.3, 0, 0), with_(0.3, 0.7, 0, 0)]);
    expect(server.requests).toHaveLength(2);
  });
});
