import { expect, it } from 'vitest';
import { detectorIdentity } from '../../experts/detector.ts';

it('names a detector by its name, version and options, in whatever order they stand, and by nothing else', () => {
  const detector = { name: 'local', version: '1', options: { task: 'rumor', modelSha256: 'a' } };
  const same = { labels: ['no', 'yes'], options: { modelSha256: 'a', task: 'rumor' }, version: '1', name: 'local' };
  expect(detectorIdentity(same)).toBe(detectorIdentity(detector));
  const others = [
    { ...detector, name: 'zofia' },
    { ...detector, version: '2' },
    { ...detector, options: { ...detector.options, modelSha256: 'b' } },
  ];
  expect(new Set([detector, ...others].map(detectorIdentity)).size).toBe(4);
});
