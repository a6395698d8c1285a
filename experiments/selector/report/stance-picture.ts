import { z } from 'zod';
import { stanceClasses } from '../../../experts/task-models/task-model.ts';
import { principalScores } from '../../../src/tensor/principal-components.ts';
import { Random } from '../../../src/tensor/random.ts';
import { type Chart, category, palette, paper, plotWidth, quantity, silent } from '../../report/page/chart.ts';
import { percent } from '../../report/shown-numbers.ts';

/*
 * JSDRV, Figure 3: posts with their stances in two dimensions, before and after selection. A run computes it at its end, and pages
 * draw it.
 *
 *   point      | paper   | here                                    | why
 *   projection | t-SNE   | two principal components                | a linear map invents no clusters, and no library is needed
 *   panels     | unclear | one projection, the second shows a part | two projections cannot be compared
 */

/** Its name in a run's folder. */
export const stancePictureFile = 'stance-picture.json';

const panelSchema = z.object({ posts: z.int().describe('all of them, drawn or not') });

export const stancePictureSchema = z.strictObject({
  shown: panelSchema.describe('the posts that the last epoch showed'),
  retained: panelSchema,
  explained: z.number().describe('share of the variance that the two components keep'),
  points: z
    .array(
      z.strictObject({
        x: z.number(),
        y: z.number(),
        stance: z.enum(stanceClasses),
        isRetained: z.boolean(),
        isRight: z
          .boolean()
          .nullable()
          .describe('whether the stance is that of the data, which the selector does not see; null where it has none'),
      }),
    )
    .describe('the posts drawn, in random order: later ones hide earlier ones'),
});
export type StancePicture = z.infer<typeof stancePictureSchema>;

export interface StancePost {
  readonly text: string;
  readonly stance: (typeof stanceClasses)[number];
  readonly explanation: string;
  readonly isRetained: boolean;
  /** Null where it is not known. */
  readonly isRight: boolean | null;
}

/** Posts drawn at most; the time grows with the cube of their number. */
const pointsAtMost = 400;

export async function stancePicture(options: {
  posts: readonly StancePost[];
  /** Row-major `[texts.length, dimensions]`. */
  embed: (texts: readonly string[]) => Promise<Float32Array>;
  dimensions: number;
  seed: number;
}): Promise<StancePicture> {
  const { posts, embed, dimensions, seed } = options;
  const drawn = Random.seeded({ seed, purpose: 'stance picture' }).shuffled(posts).slice(0, pointsAtMost);
  const texts = drawn.map(({ text, stance, explanation }) => [text, stance, explanation].join(' [SEP] '));
  const data = texts.length === 0 ? new Float32Array(0) : unitRows(await embed(texts), dimensions);
  const { scores, explained } = await principalScores({ data, columns: dimensions }, { components: 2 });
  return {
    shown: { posts: posts.length },
    retained: { posts: posts.filter(({ isRetained }) => isRetained).length },
    explained,
    points: drawn.map(({ stance, isRetained, isRight }, place) => {
      const [x, y] = scores[place];
      return { x, y, stance, isRetained, isRight };
    }),
  };
}

/** Every row divided by its length; a row of zeros stays as it is. */
function unitRows(rows: Float32Array, dimensions: number): Float32Array {
  const units = new Float32Array(rows.length);
  for (let start = 0; start < rows.length; start += dimensions) {
    let squares = 0;
    for (let index = start; index < start + dimensions; index++) squares += rows[index] ** 2;
    const norm = Math.sqrt(squares) || 1;
    for (let index = start; index < start + dimensions; index++) units[index] = rows[index] / norm;
  }
  return units;
}

/** Above all posts, below the retained ones with the discarded in grey; wrong stances are hollow. */
export function stanceChart(picture: StancePicture, chart: { name: string; variant: string }): Chart {
  const { points, shown, retained, explained } = picture;
  const domain = [...stanceClasses];
  const place = { x: quantity('x', { axis: null }), y: quantity('y', { axis: null }) };
  const colours = { domain, range: [palette.blue, palette.vermillion, palette.green, palette.pink] };
  const hollow = { test: 'datum.isRight === false', value: paper };
  const encoding = {
    ...place,
    stroke: category('stance', { title: null, scale: colours }),
    shape: category('stance', { title: null, scale: { domain } }),
    fill: category('stance', { title: null, scale: colours, condition: hollow }),
  };
  const marks = silent('point', encoding, { size: 28, opacity: 0.8 });
  const discarded = silent('circle', place, { size: 14, color: palette.grey, opacity: 0.4 });
  const ofRetained = { transform: [{ filter: 'datum.isRetained' }] };
  const left = { transform: [{ filter: '!datum.isRetained' }] };
  const panel = (title: string, { posts }: StancePicture['shown'], layer: readonly object[]) => ({
    ...{ width: plotWidth, height: 240, view: { stroke: palette.grey }, layer },
    title: `${title} (${posts.toLocaleString('en')})`,
  });
  const variance = `two principal components, which keep ${percent(explained)} of the variance`;
  return {
    name: chart.name,
    title: `Map of stances, ${chart.variant}`,
    label: `Posts by stance before and after selection: ${points.length} posts in ${variance}.`,
    caption: `What the policies read of a post (its text, its stance and the reason) in ${variance}. Hollow marks have a wrong stance.`,
    spec: {
      data: { values: points },
      vconcat: [
        panel('All posts', shown, [marks]),
        panel('Retained posts', retained, [
          { ...discarded, ...left },
          { ...marks, ...ofRetained },
        ]),
      ],
    },
  };
}
