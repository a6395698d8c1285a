import { z } from 'zod';
import { seedSchema } from '../../seed.ts';
import { Random } from '../../tensor/random.ts';
import { type Post, stances, type Thread } from '../thread.ts';
import { drawIndex } from './stream.ts';

/*
 * Invented threads in which a known share of the replies seems to have another stance than its true one.
 *
 * The veracity of a claim follows from the stances of its replies and from nothing else. An honest reply states its
 * stance in plain words. A slippery one states another stance, in words that only slippery replies use. Every reply
 * also contains words that go with its true stance but mean nothing to an untrained model. In the pretraining items,
 * all words mean what they say, and the meaningless ones do not occur.
 *
 * So a pretrained model is wrong about slippery replies, whose words can be learned from the veracity of claims alone.
 * A model tuned on honest replies then learns the meaningless words, and reads slippery replies correctly through them.
 *
 * A share of the training claims may be campaigns, marked by words of the claim. Their replies have the stances of
 * another veracity, so a model that judges claims by stances is wrong about them and learns nothing general from them.
 * No test thread is a campaign.
 */

/** The number of threads and items, and their difficulty. */
export const plantedStanceOptionsSchema = z.strictObject({
  threads: z.int().min(8).default(400).describe('threads to train on'),
  testThreads: z.int().min(8).default(200).describe('threads to test on'),
  replies: z.int().min(1).default(12).describe('replies of a thread'),
  slipperyShare: z.number().min(0).max(1).default(0.5).describe('share of the replies that look like another stance'),
  campaignShare: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      'share of the training claims whose replies stand as those of another veracity; words of the claim mark them',
    ),
  pretrainingItems: z.int().min(8).default(400).describe('posts from elsewhere that stance is learnt from first'),
  seed: seedSchema.default(1),
});

const veracities = ['non-rumor', 'true', 'false', 'unverified'] as const;

/** For each veracity, the frequencies of replies that support, deny, query and comment. */
const stancesOfVeracity: readonly (readonly number[])[] = [
  [0.1, 0.1, 0.1, 0.7],
  [0.7, 0.1, 0.1, 0.1],
  [0.1, 0.7, 0.1, 0.1],
  [0.1, 0.1, 0.7, 0.1],
];

const honest: readonly (readonly string[])[] = [
  ['confirmed', 'it is true', 'verified', 'exactly'],
  ['that is false', 'this is a hoax', 'untrue', 'made up'],
  ['any source ?', 'is this true ?', 'who says ?', 'any proof ?'],
  ['watching this', 'thinking of everyone there', 'what a day', 'on my way home'],
];
/** Pretended stances; none for comments, which state no stance. */
const slippery: readonly (readonly string[])[] = [
  ['yep', 'totally', 'well said', 'facts'],
  ['nonsense', 'bullshit', 'propaganda', 'rubbish'],
  ['really ?', 'how do you know ?', 'link ?', 'i wonder why ?'],
];
/** Words without a meaning that go with the true stance. */
const telling: readonly (readonly string[])[] = [
  ['maro', 'tulen', 'besk', 'orvid', 'palun'],
  ['zorv', 'kelim', 'drast', 'uvent', 'noreg'],
  ['quill', 'fenor', 'ibast', 'yolem', 'wican'],
  ['hadel', 'simbo', 'lutra', 'cevan', 'gorim'],
];
const fillers = ['people', 'news', 'today', 'city', 'they', 'police', 'report', 'area', 'time', 'now', 'here', 'about'];
const campaignMarks = ['petition', 'hashtag', 'forwarded', 'share before it is deleted'];
const subjects = ['bridge', 'museum', 'airport', 'factory', 'stadium', 'harbour', 'school', 'market'];

/**
 * Makes the threads and the items. Equal options give equal threads, and veracities take turns.
 * @throws ZodError for an option that is unknown or out of range
 */
export function plantedStances(options: z.input<typeof plantedStanceOptionsSchema> = {}): {
  train: Thread[];
  test: Thread[];
  /** Threads of one post with `labels.stance`. */
  pretraining: Thread[];
} {
  const { threads, testThreads, pretrainingItems, campaignShare, seed, ...shape } =
    plantedStanceOptionsSchema.parse(options);
  const random = Random.seeded({ seed, purpose: 'planted stances' });
  const all = Array.from({ length: threads + testThreads }, (_, index) =>
    plantedThread({
      id: `planted-${seed}-${index + 1}`,
      veracity: index % 4,
      ...shape,
      campaignShare: index < threads ? campaignShare : 0,
      random,
    }),
  );
  return {
    train: all.slice(0, threads),
    test: all.slice(threads),
    pretraining: Array.from({ length: pretrainingItems }, (_, index) => plainItem(index, { seed, random })),
  };
}

function plantedThread(options: {
  id: string;
  veracity: number;
  replies: number;
  slipperyShare: number;
  campaignShare: number;
  random: Random;
}): Thread {
  const { id, veracity, replies, slipperyShare, campaignShare, random } = options;
  const one = <T>(items: readonly T[]): T => items[random.integer(items.length)];
  const post = (index: number, text: string, stance: Post['stance']): Post => {
    const time = new Date(Date.UTC(2024, 0, 1, 0, index)).toISOString();
    return {
      id: index === 0 ? id : `${id}-${index}`,
      time,
      author: null,
      parent: index === 0 ? null : id,
      text,
      stance,
    };
  };
  const report = `reports about the ${one(subjects)} ${one(fillers)} ${one(fillers)} ${random.integer(1000)}`;
  const isCampaign = campaignShare > 0 && random.uniform() < campaignShare;
  const claim = isCampaign ? `${one(campaignMarks)} : ${report}` : report;
  const pretended = isCampaign ? one([0, 1, 2, 3].filter((other) => other !== veracity)) : veracity;
  const answers = Array.from({ length: replies }, (_, index) => {
    const stance = drawIndex(stancesOfVeracity[pretended], random);
    const isSlippery = random.uniform() < slipperyShare;
    const shownStance = isSlippery ? one([0, 1, 2].filter((other) => other !== stance)) : stance;
    const words = [
      one(fillers),
      one(isSlippery ? slippery[shownStance] : honest[shownStance]),
      one(telling[stance]),
      one(telling[stance]),
    ];
    return post(index + 1, words.join(' '), stances[stance]);
  });
  return {
    id,
    event: null,
    veracity: veracities[veracity],
    rumor: veracity > 0,
    posts: [post(0, claim, null), ...answers],
  };
}

function plainItem(index: number, { seed, random }: { seed: number; random: Random }): Thread {
  const stance = index % 4;
  const words = [...honest[stance], ...(slippery[stance] ?? [])];
  const text = `${fillers[random.integer(fillers.length)]} ${words[random.integer(words.length)]}`;
  const id = `planted-item-${seed}-${index + 1}`;
  return {
    id,
    event: null,
    veracity: null,
    rumor: null,
    labels: { stance: stances[stance], target: 'another place' },
    posts: [{ id, time: null, author: null, parent: null, text, stance: null }],
  };
}
