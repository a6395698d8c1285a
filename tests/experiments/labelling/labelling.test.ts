import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { randomStart } from '../../../experiments/labelling/choose.ts';
import { openLabelling } from '../../../experiments/labelling/labelling.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const threads = synthesizeThreads({ threads: 80, seed: 3 }).map((thread) => ({ ...thread, rumor: null }));
const classes = ['resolved', 'escalated'];

/** The ranking after 50 labels: the start, ten by margin, and ten at random, whose classes may be turned round. */
async function rankingWith(turned: 'random' | 'margin' | null) {
  const labelling = openLabelling(threads, {
    ...{ label: 'outcome', classes, seed: 1 },
    labels: join(temporaryFolder(), 'labels.jsonl'),
  });
  const { order, file } = labelling;
  const answer = (thread: string, chosen: 'random' | 'margin') => {
    const place = order.indexOf(thread) + (chosen === turned && order.indexOf(thread) >= randomStart ? 1 : 0);
    const time = new Date(0).toISOString();
    file.append({ kind: 'label', thread, class: classes[place % 2], annotator: 'anna', time, chosen, chance: 1 });
  };
  for (const id of order.slice(0, randomStart + 10)) answer(id, 'random');
  for (const id of order.slice(-10)) answer(id, 'margin');
  return (await labelling.learn())?.ranking;
}

describe('the detector that chooses', () => {
  it('learns from the start and from what was chosen by margin, and not from labels that test', async () => {
    const ranking = await rankingWith(null);
    expect(ranking?.length).toBeGreaterThan(10);
    expect(await rankingWith('random')).toEqual(ranking);
    expect(await rankingWith('margin')).not.toEqual(ranking);
  });
});
