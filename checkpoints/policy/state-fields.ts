import {
  growingLastJudgement,
  growingStudentFeatures,
  lastJudgementFeatureCount,
  type SeenJudgement,
  studentFeatureCount,
} from '../../src/data/judgement-features.ts';
import { growingPool, type PostPooling } from '../../src/data/post-pooling.ts';

/*
 * The fields that a policy can read of a thread. Training tables, decisions, tests and exported policies all use these
 * definitions. The first four make the states of trained policies. Each of the others is the score of a rule, between 0
 * and 1, so that a threshold on it can be calibrated like one on π(stop).
 */

/** A post and the data known after it is read. Only the policy's fields need theirs. */
export interface SeenPost {
  /** Hours since the claim; null if a time is unknown. */
  readonly hours: number | null;
  /** The embedding, [dimensions]. */
  readonly embedding: Float32Array | null;
  /** The student's probability of each label, given the posts so far. */
  readonly student: readonly number[] | null;
  /** The detector's judgement of the posts so far; null if it was not queried. */
  readonly judgement: SeenJudgement | null;
}

/** Reads the posts of one thread in order. */
export interface FieldReader {
  add(post: SeenPost): void;
  /** Writes the field's numbers for the posts so far, given that the previous action was "continue". */
  write(into: Float32Array, from: number): void;
}

export interface StateField {
  readonly name: FieldName;
  /** Numbers in a state. */
  readonly count: number;
  /** The description in manifests and docs. */
  readonly meaning: string;
  open(): FieldReader;
}

export interface FieldSettings {
  readonly labels: readonly string[];
  /** The embeddings, which only the field `posts` reads. */
  readonly posts: {
    readonly dimensions: number;
    readonly pooling: PostPooling;
    /** The embedding of the text "Continue.". */
    readonly continued: Float32Array;
  } | null;
}

export const fieldNames = [
  'posts',
  'posts seen',
  'student',
  'judgement',
  'share of posts',
  'detector confidence',
  'student confidence',
] as const;
export type FieldName = (typeof fieldNames)[number];

export function stateFields(names: readonly FieldName[], settings: FieldSettings): StateField[] {
  return names.map((name) => ({ name, ...definitions[name](settings) }));
}

/** Numbers per state. */
export function columnsOf(fields: readonly Pick<StateField, 'count'>[]): number {
  return fields.reduce((sum, { count }) => sum + count, 0);
}

/** Reads one thread. Each call reads the next post and writes the state after it, [columns]. */
export function stateReader(fields: readonly StateField[]): (post: SeenPost, into: Float32Array) => void {
  const readers = fields.map((field) => ({ reader: field.open(), count: field.count }));
  return (post, into) => {
    let from = 0;
    for (const { reader, count } of readers) {
      reader.add(post);
      reader.write(into, from);
      from += count;
    }
  };
}

const pooledInWords = {
  sum: 'sum of the embeddings of the posts read',
  mean: 'mean of the embeddings of the posts read',
  sqrt: 'sum of the embeddings of the k posts read over √k',
} as const;

const definitions: Readonly<Record<FieldName, (settings: FieldSettings) => Omit<StateField, 'name'>>> = {
  posts({ posts }) {
    const { dimensions, pooling, continued } = posts!;
    return {
      count: dimensions,
      meaning: `${pooledInWords[pooling]}; after the first post, the embedding of the text of the previous action is added`,
      open() {
        const pool = growingPool({ dimensions, pooling });
        let read = 0;
        return {
          add({ embedding }) {
            pool.add(embedding!);
            read++;
          },
          write: (into, from) => pool.write(into, from, read === 1 ? null : continued),
        };
      },
    };
  },

  'posts seen': () => ({
    count: 1,
    meaning: 'ln of the posts read',
    open: ofCount((posts) => [Math.log(posts)]),
  }),

  student({ labels }) {
    const [first, ...others] = labels;
    return {
      count: studentFeatureCount(labels.length),
      meaning: `log-odds of ${others.join(', ')} against ${first} by the student (probabilities at least 1e-4), the margin between its likeliest label and the next in log-odds, ln of the posts read, ln of how many posts in a row its label is unchanged`,
      open() {
        const features = growingStudentFeatures();
        return holding(({ student }) => features(student ?? uniform(labels)));
      },
    };
  },

  judgement({ labels }) {
    const [first, ...others] = labels;
    return {
      count: lastJudgementFeatureCount(labels.length),
      meaning: `of the last judgement queried: log-odds of ${others.join(', ')} against ${first} (probabilities at least 1e-4; a label alone counts as certain; 0 without a label), the margin between its likeliest label and the next in log-odds, ln of 1 + the posts since, ln of 1 + how many judgements in a row gave the same label; then ln of the posts read`,
      open() {
        const features = growingLastJudgement(labels.length);
        return holding(({ judgement }) => features(judgement));
      },
    };
  },

  'share of posts': () => ({
    count: 1,
    meaning: 'k / (1 + k) after k posts',
    open: ofCount((posts) => [scoreOfPosts(posts)]),
  }),

  'detector confidence': () => ({
    count: 1,
    meaning: 'probability of the label of the last judgement queried; 0 without one',
    open() {
      let last = 0;
      return holding(({ judgement }) => {
        if (judgement !== null) last = judgement.probabilities?.[judgement.label] ?? 0;
        return [last];
      });
    },
  }),

  'student confidence': ({ labels }) => ({
    count: 1,
    meaning: "probability of the student's likeliest label",
    open: () => holding(({ student }) => [Math.max(...(student ?? uniform(labels)))]),
  }),
};

/** Whether a field of this name is among some. */
export function readsField(fields: readonly Pick<StateField, 'name'>[], name: FieldName): boolean {
  return fields.some((field) => field.name === name);
}

/** The score of a rule that counts posts: k / (1 + k). */
export function scoreOfPosts(posts: number): number {
  return posts / (1 + posts);
}

/** A reader whose numbers depend on the last post alone. */
function holding(numbersAfter: (post: SeenPost) => readonly number[]): FieldReader {
  let numbers: readonly number[] = [];
  return {
    add(post) {
      numbers = numbersAfter(post);
    },
    // A call of `set` takes longer than this loop.
    write(into, from) {
      for (let index = 0; index < numbers.length; index++) into[from + index] = numbers[index];
    },
  };
}

function ofCount(numbersOf: (posts: number) => readonly number[]): () => FieldReader {
  return () => {
    let posts = 0;
    return holding(() => numbersOf(++posts));
  };
}

function uniform(labels: readonly string[]): number[] {
  return labels.map(() => 1 / labels.length);
}
