import { describe, expect, it } from 'vitest';
import { draw } from '../../../../experiments/report/page/chart.ts';
import {
  type StancePost,
  stanceChart,
  stancePicture,
  stancePictureSchema,
} from '../../../../experiments/selector/report/stance-picture.ts';
import { stanceClasses as classes } from '../../../../experts/task-models/task-model.ts';
import { Random } from '../../../../src/tensor/random.ts';

/** Texts are directions: "60" embeds as the unit vector at 60°, "none" as zero. */
async function embedAngles(texts: readonly string[]): Promise<Float32Array> {
  return Float32Array.from(
    texts.flatMap((text) => {
      const degrees = Number.parseFloat(text);
      return Number.isNaN(degrees)
        ? [0, 0]
        : [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
    }),
  );
}

function post(options: { angle: number | string } & Partial<StancePost>): StancePost {
  const { angle, ...others } = options;
  return { text: `${angle}`, stance: 'deny', explanation: 'because', isRetained: true, isRight: null, ...others };
}

/** Every stance has its quarter of the circle; the discarded posts lie anywhere. Comments are the most, queries the fewest. */
function planted() {
  const random = Random.seeded({ seed: 5, purpose: 'planted' });
  return [40, 20, 6, 134].flatMap((count, kind) =>
    Array.from({ length: count }, (_, index) => {
      const isRetained = index % 2 === 0;
      const angle = isRetained ? kind * 90 + random.normal() * 5 : random.uniform() * 360;
      return post({ angle, stance: classes[kind], isRetained });
    }),
  );
}

const picture = (options: Partial<Parameters<typeof stancePicture>[0]> = {}) =>
  stancePicture({ posts: planted(), embed: embedAngles, dimensions: 2, seed: 1, ...options });

describe('stancePicture', () => {
  it('embeds post, stance and reason as one text', async () => {
    const seen: string[] = [];
    const embed = (texts: readonly string[]) => {
      seen.push(...texts);
      return embedAngles(texts);
    };
    await picture({ posts: [post({ angle: 10 })], embed });
    expect(seen).toEqual(['10 [SEP] deny [SEP] because']);
  });

  it('is the same under one seed, drawn in another order under another, and survives JSON', async () => {
    const [first, second, other] = [await picture(), await picture(), await picture({ seed: 2 })];
    expect(second).toEqual(first);
    expect(other.points).not.toEqual(first.points);
    expect(stancePictureSchema.parse(JSON.parse(JSON.stringify(first)))).toEqual(first);
  });

  it('draws a part of many posts, counts all, and mixes their order, so that no class is plotted over the others', async () => {
    const many = Array.from({ length: 500 }, (_, index) =>
      post({ angle: index, stance: classes[Number(index < 250)], isRetained: index % 5 === 0 }),
    );
    const { points, shown, retained } = await picture({ posts: many });
    expect(points).toHaveLength(400);
    expect([shown.posts, retained.posts]).toEqual([500, 100]);
    const changes = points.filter(({ stance }, index) => index > 0 && stance !== points[index - 1].stance);
    expect(changes.length).toBeGreaterThan(100);
  });

  it('shows that planted clusters are separated once the rest is discarded', async () => {
    const { points, explained } = await picture();
    expect(explained).toBeCloseTo(1, 6);
    const kept = points.filter(({ isRetained }) => isRetained);
    const sharesStance = kept.filter((point) => {
      const distance = (other: typeof point) =>
        other === point ? Infinity : Math.hypot(other.x - point.x, other.y - point.y);
      return kept.reduce((best, other) => (distance(other) < distance(best) ? other : best)).stance === point.stance;
    });
    expect(sharesStance.length).toBeGreaterThanOrEqual(98);
  });

  it('takes no posts, one post, and posts without a word', async () => {
    expect(await picture({ posts: [] })).toMatchObject({ points: [], shown: { posts: 0 } });
    expect((await picture({ posts: [post({ angle: 3 })] })).points).toHaveLength(1);
    const posts = Array.from({ length: 20 }, (_, index) => post({ angle: 'none', stance: classes[index % 2] }));
    const { points } = await picture({ posts });
    expect(points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
  });
});

describe('stanceChart', () => {
  const drawn = async (own: Awaited<ReturnType<typeof picture>>) =>
    (await draw(stanceChart(own, { name: 'stances-1', variant: 'agent' }))).svg;

  it('shows each point once among all, the retained ones again, and the others in grey', async () => {
    const own = await picture();
    const svg = await drawn(own);
    const kept = own.points.filter(({ isRetained }) => isRetained).length;
    expect(svg.match(/<path [^>]*fill="#767676"/g)).toHaveLength(200 - kept);
    expect(svg.match(/<path [^>]*stroke="#d55e00"/g)?.length).toBeGreaterThanOrEqual(30);
    expect(svg).toContain('All posts (200)');
    expect(svg).toContain('Retained posts (100)');
  });

  it('draws wrong stances hollow, in both panels', async () => {
    const posts = Array.from({ length: 10 }, (_, index) =>
      post({ angle: index * 30, isRetained: index < 6, isRight: index < 8 ? index !== 2 && index !== 7 : null }),
    );
    // Both among all posts; of the retained ones one.
    expect((await drawn(await picture({ posts }))).match(/<path [^>]*fill="#ffffff"/g)).toHaveLength(3);
  });

  it('is drawn where there is nothing to draw', async () => {
    const svg = await drawn(await picture({ posts: [] }));
    expect(svg).toContain('All posts (0)');
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});
