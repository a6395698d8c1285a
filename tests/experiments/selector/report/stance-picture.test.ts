import { describe, expect, it } from 'vitest';
import { stancePicture, stancePictureSchema } from '../../../../experiments/selector/report/stance-picture.ts';
import { stancePictureSvg } from '../../../../experiments/selector/report/stance-picture-svg.ts';
import { Random } from '../../../../src/tensor/random.ts';

const classes = ['support', 'deny', 'query', 'comment'];

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

function post(options: { angle: number | string; stance: string; isRetained?: boolean; isRight?: boolean | null }) {
  const { angle, stance, isRetained = true, isRight = null } = options;
  return { text: `${angle}`, stance, explanation: 'because', isRetained, isRight };
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

const draw = (options: Partial<Parameters<typeof stancePicture>[0]> = {}) =>
  stancePicture({ posts: planted(), classes, embed: embedAngles, dimensions: 2, points: 60, seed: 1, ...options });

describe('stancePicture', () => {
  it('embeds post, stance and reason as one text', async () => {
    const seen: string[] = [];
    const embed = (texts: readonly string[]) => {
      seen.push(...texts);
      return embedAngles(texts);
    };
    await draw({ posts: [post({ angle: 10, stance: 'deny' })], embed });
    expect(seen).toEqual(['10 [SEP] deny [SEP] because']);
  });

  it('is the same under one seed, and another under another', async () => {
    const [first, second, other] = [await draw(), await draw(), await draw({ seed: 2 })];
    expect(second).toEqual(first);
    expect(other.points).not.toEqual(first.points);
  });

  it('survives JSON', async () => {
    const picture = await draw();
    expect(stancePictureSchema.parse(JSON.parse(JSON.stringify(picture)))).toEqual(picture);
  });

  it('draws every class, retained and discarded, in proportion', async () => {
    const { points, annotated, retained } = await draw();
    expect(points).toHaveLength(60);
    for (const stance of classes)
      for (const isRetained of [true, false])
        expect(points?.some((point) => point.stance === stance && point.isRetained === isRetained)).toBe(true);
    expect(annotated.classes.map(({ posts }) => posts)).toEqual([40, 20, 6, 134]);
    expect(retained.classes.map(({ posts }) => posts)).toEqual([20, 10, 3, 67]);
    // 60 of 200, so 0.3 of each, up to Adams' rounding in favour of the small.
    expect(annotated.classes.map(({ shownPosts }) => shownPosts)).toEqual([12, 6, 2, 40]);
  });

  it('mixes the order of the posts, so that no class is plotted over the others', async () => {
    const { points } = await draw();
    const changes = points?.filter(({ stance }, index) => index > 0 && stance !== points[index - 1].stance);
    expect(changes?.length).toBeGreaterThan(10);
  });

  it('draws one of each even when a stratum is one post among many', async () => {
    const posts = [
      ...Array.from({ length: 500 }, (_, angle) => post({ angle, stance: 'comment', isRetained: false })),
      ...classes.flatMap((stance) => [true, false].map((isRetained) => post({ angle: 1, stance, isRetained }))),
    ];
    const { points } = await draw({ posts, points: 8 });
    expect(new Set(points?.map(({ stance, isRetained }) => `${stance} ${isRetained}`)).size).toBe(8);
    const four = await draw({ posts, points: 4 });
    expect(new Set(four.points?.map(({ stance }) => stance)).size).toBe(4);
    expect(new Set(four.points?.map(({ isRetained }) => isRetained)).size).toBe(2);
  });

  it('shows among the retained a part of what it shows among all', async () => {
    const { points, annotated, retained } = await draw();
    const kept = points?.filter(({ isRetained }) => isRetained) ?? [];
    for (const [index, stance] of classes.entries()) {
      expect(retained.classes[index].shownPosts).toBe(kept.filter((point) => point.stance === stance).length);
      expect(retained.classes[index].shownPosts).toBeLessThanOrEqual(annotated.classes[index].shownPosts);
    }
  });

  it('computes the silhouettes of a case done by hand', async () => {
    const posts = [
      post({ angle: 0, stance: 'support' }),
      post({ angle: 60, stance: 'support' }),
      post({ angle: 180, stance: 'deny' }),
      post({ angle: 240, stance: 'deny' }),
      post({ angle: 0, stance: 'deny', isRetained: false }),
    ];
    const { annotated, retained } = await draw({ posts });
    // Retained: to its own 1 − cos 60° = ½, to the others (2 + 1½)/2 = 1¾; (1¾ − ½)/1¾ = 5/7 for all four.
    expect(retained.silhouette).toBeCloseTo(5 / 7, 5);
    expect(retained.classes.map(({ silhouette }) => silhouette)).toEqual([
      expect.closeTo(5 / 7, 5),
      expect.closeTo(5 / 7, 5),
      null,
      null,
    ]);
    // All: support at 0° has a = ½ and b = (2 + 1½ + 0)/3 = 7/6, so 4/7; at 60° b = (1½ + 2 + ½)/3 = 4/3, so 5/8.
    // Deny at 180° has a = (½ + 2)/2 = 5/4, b = (2 + 1½)/2 = 7/4, so 2/7; at 240° a = (½ + 1½)/2 = 1, b = 7/4, so 3/7;
    // at 0° a = (2 + 1½)/2 = 7/4, b = (0 + ½)/2 = ¼, so −6/7.
    expect(annotated.classes[0].silhouette).toBeCloseTo((4 / 7 + 5 / 8) / 2, 5);
    expect(annotated.classes[1].silhouette).toBeCloseTo((2 / 7 + 3 / 7 - 6 / 7) / 3, 5);
    expect(annotated.silhouette).toBeCloseTo((4 / 7 + 5 / 8 - 1 / 7) / 5, 5);
  });

  it('measures that planted clusters are separated once the rest is discarded', async () => {
    const { annotated, retained } = await draw({ points: 200 });
    expect(retained.silhouette).toBeGreaterThan(0.9);
    expect(annotated.silhouette).toBeLessThan(0.4);
  });

  it('keeps planted clusters together in two dimensions', async () => {
    const { points } = await draw({ posts: planted().filter(({ isRetained }) => isRetained), points: 100 });
    const all = points ?? [];
    const sharesStance = all.filter((point) => {
      const distance = (other: typeof point) =>
        other === point ? Infinity : Math.hypot(other.x - point.x, other.y - point.y);
      const nearest = all.reduce((best, other) => (distance(other) < distance(best) ? other : best));
      return nearest.stance === point.stance;
    });
    expect(sharesStance.length).toBeGreaterThanOrEqual(98);
  });

  it('leaves silhouettes undefined with one class, or with nothing but loners', async () => {
    const oneClass = await draw({ posts: [0, 1, 2, 3].map((angle) => post({ angle, stance: 'deny' })) });
    expect(oneClass.annotated.silhouette).toBeNull();
    const loners = await draw({ posts: classes.map((stance, index) => post({ angle: index * 90, stance })) });
    expect(loners.annotated.silhouette).toBeNull();
    expect(loners.points).toHaveLength(4);
  });

  it('says why it has no points when there are too few', async () => {
    for (const count of [0, 1, 3]) {
      const posts = Array.from({ length: count }, (_, angle) => post({ angle, stance: 'deny' }));
      const { points, reason, annotated } = await draw({ posts });
      expect(points).toBeNull();
      expect(reason).toBe(`there are ${count} posts to show, and a projection needs at least 4`);
      expect(annotated.classes[1].posts).toBe(count);
    }
  });

  it('places posts that are all alike, and posts without a word', async () => {
    const posts = Array.from({ length: 20 }, (_, index) => post({ angle: 'none', stance: classes[index % 2] }));
    const { points, annotated } = await draw({ posts });
    expect(points?.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
    expect(annotated.silhouette).toBe(0);
  });

  it('refuses a stance that is no class, and embeddings of the wrong size or without a value', async () => {
    const posts = [post({ angle: 0, stance: 'denial' })];
    await expect(draw({ posts })).rejects.toThrow('"denial", which is none of the classes support, deny');
    await expect(draw({ dimensions: 3 })).rejects.toThrow('60 texts of 3 dimensions were embedded as 120 numbers');
    await expect(draw({ embed: async (texts) => new Float32Array(2 * texts.length).fill(NaN) })).rejects.toThrow(
      'not finite',
    );
  });

  it('stops when asked', async () => {
    await expect(draw({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough now')), 5);
    await expect(draw({ points: 200, signal: controller.signal })).rejects.toThrow('enough now');
  });
});

describe('stancePictureSvg', () => {
  it('is well-formed and shows each point once among all, the retained ones again, and the others in grey', async () => {
    const picture = await draw();
    const svg = stancePictureSvg(picture);
    expectWellFormed(svg);
    const kept = picture.points?.filter(({ isRetained }) => isRetained).length ?? 0;
    expect(svg.match(/<path /g)).toHaveLength(60 + kept + 2 * classes.length);
    expect(svg.match(/<circle [^>]*fill="#c9c9c9"/g)).toHaveLength(60 - kept);
    expect(svg).toContain('All annotated posts (200)');
    expect(svg).toContain('Retained posts (100)');
    expect(svg).toContain('60 of 200 posts drawn (seed 1)');
    expect(svg).toContain('>comment: 134<');
    expect(svg).toContain(`>${picture.retained.silhouette?.toFixed(2)}<`);
    expect(svg).not.toMatch(/NaN|Infinity|null/);
  });

  it('puts a post at the same place in both panels', async () => {
    const picture = await draw({ posts: planted().map((each) => ({ ...each, isRetained: true })) });
    const [all, retained] = stancePictureSvg(picture)
      .split('<g ')
      .slice(1)
      .map((panel) => panel.match(/<path [^>]*>/g));
    expect(retained).toEqual(all);
  });

  it('draws wrong stances hollow, in both panels, and says how many of the known ones they are', async () => {
    const posts = Array.from({ length: 10 }, (_, index) =>
      post({
        angle: index * 30,
        stance: classes[index % 4],
        isRetained: index < 6,
        isRight: index < 8 ? index !== 2 && index !== 7 : null,
      }),
    );
    const svg = stancePictureSvg(await draw({ posts }));
    expectWellFormed(svg);
    // Both among all posts; of the retained ones one.
    expect(svg.match(/<path [^>]*stroke-width="1.75"/g)).toHaveLength(3);
    expect(svg).toContain('(2 of 8). Grey: discarded.');
    expect(stancePictureSvg(await draw({ posts: posts.map((each) => ({ ...each, isRight: null })) }))).not.toContain(
      'Hollow',
    );
  });

  it('escapes what it is told', async () => {
    const name = `<b title="it's">A&B\u0001\uD800`;
    const svg = stancePictureSvg(
      await draw({
        classes: [name, 'deny'],
        posts: [name, 'deny', name, 'deny'].map((stance, index) => post({ angle: index, stance })),
      }),
    );
    expectWellFormed(svg);
    expect(svg).toContain('&lt;b title=&quot;it&apos;s&quot;&gt;A&amp;B\uFFFD: 2');
  });

  it('says in place of points why there are none', async () => {
    const svg = stancePictureSvg(await draw({ posts: [] }));
    expectWellFormed(svg);
    expect(svg.match(/there are 0 posts to show/g)).toHaveLength(2);
    expect(svg).toContain('undefined');
    const discarded = planted().map((each) => ({ ...each, isRetained: false }));
    const unselected = stancePictureSvg(await draw({ posts: discarded }));
    expectWellFormed(unselected);
    expect(unselected).toContain('>no posts<');
  });
});

/** Tags close in the order in which they opened, attributes are quoted, and no stray `<` or `&` is left between them. */
function expectWellFormed(xml: string): void {
  const tag = /<(\/?)([a-z]+)((?: [a-zA-Z:-]+="[^"<]*")*)(\/?)>/g;
  const open: string[] = [];
  for (const [, closing, name, , alone] of xml.matchAll(tag)) {
    if (closing) expect(open.pop()).toBe(name);
    else if (!alone) open.push(name);
  }
  expect(open).toEqual([]);
  expect(xml.replace(tag, '')).not.toMatch(/[<>]/);
  expect(xml.replace(/&(?:amp|lt|gt|quot|apos);/g, '')).not.toContain('&');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids.
  expect(xml).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/);
}
