import { z } from 'zod';

const share = z.number().min(0).max(1);
const retention = z.enum(['policy', 'all']);

/** Hyperparameters of the selector; the paper's (Appendix C) where it names them. */
export const selectorSchema = z
  .strictObject({
    epochs: z.int().min(1).default(50).describe('epochs at most'),
    batchClaims: z.int().min(1).default(4).describe('claims, with their posts, in one update of the policies'),
    learningRate: z.number().positive().default(5e-5).describe('of Adam, for both policies'),
    warmup: share.default(0.1).describe('share of all updates over which the learning rate rises to its value'),
    epsilon: z
      .strictObject({
        claims: share
          .default(0.3)
          .describe('share of the preselected claims that are drawn from the unlabelled ones (Eq. 2)'),
        posts: share
          .default(0.3)
          .describe('share of the preselected posts that are drawn at random, not in time order (Eq. 1)'),
      })
      .prefault({}),
    claimsPerEpoch: z
      .int()
      .min(1)
      .nullable()
      .default(null)
      .describe('claims preselected in an epoch; null: every claim once, and ε decides only their order'),
    postsPerClaim: z.int().min(1).nullable().default(20).describe('posts preselected of a claim; null: all'),
    preselect: z
      .strictObject({
        claims: z.boolean().default(true).describe('ablation epRV: false shows every claim, in random order'),
        posts: z.boolean().default(true).describe('ablation epSD: false shows every post, in time order'),
      })
      .prefault({})
      .describe('ε-greedy pre-selection'),
    references: z
      .enum(['all-posts', 'shown-posts'])
      .default('all-posts')
      .describe(
        'posts of labelled claims that unlabelled claims are compared with: all of them, or only preselected ones, which takes fewer calls',
      ),
    agreement: z
      .enum(['margin', 'cosine', 'raw-sign'])
      .default('margin')
      .describe(
        'reward of a labelled claim: how much likelier its veracity is predicted than any other, or the centred cosine; of an unlabelled one: the centred cosine. raw-sign is the paper to the letter, the sign of a cosine without centring: +1 for any two distributions, so that nothing is learnt',
      ),
    unlabelledReward: z
      .enum(['stances', 'none'])
      .default('stances')
      .describe(
        'what unlabelled claims teach: the agreement of their retained stances with those of labelled claims, as in the paper, which also rewards a wrong veracity that fits the stances; or nothing',
      ),
    postReward: z
      .enum(['claim', 'reward-to-go', 'counterfactual'])
      .default('claim')
      .describe(
        'reward of a post’s step: that of its claim (one veracity question for each claim); what this step and the later ones add to the agreement (a question for each retained post); or the expectation over both actions on this post, the others as they were (a question for each post)',
      ),
    claimGradient: z
      .enum(['exact', 'sampled'])
      .default('exact')
      .describe(
        'of a claim’s step: the expectation over both actions, since the reward of either is known, or that of the action taken, as in the paper',
      ),
    discardedClaim: z
      .enum(['same', 'negated'])
      .default('negated')
      .describe(
        'reward of discarding a claim: the same as of retaining it (the paper taken literally, which teaches nothing), or its negative',
      ),
    baseline: z
      .enum(['none', 'running-mean'])
      .default('none')
      .describe('subtracted from the rewards of a level before the update'),
    entropy: z
      .number()
      .min(0)
      .default(0)
      .describe('bonus for undecided policies, in units of reward: keeps them exploring; 0 in the paper'),
    explanation: z
      .enum(['reason', 'label-and-reason', 'words-with-label'])
      .default('label-and-reason')
      .describe(
        'what the state says of the item shown: the task model’s reason; its label before it, as in the paper’s explanations; or each word of the item with the label, so that a linear policy can tell a word with one label from the same word with another (for the hashing encoder)',
      ),
    showDistribution: z
      .boolean()
      .default(false)
      .describe('add the class distribution of the item shown to the state; the paper shows its explanation alone'),
    labelledClaims: z
      .enum(['by-policy', 'always'])
      .default('by-policy')
      .describe(
        'which labelled claims tune the veracity model: those that the policy retains, or all that were preselected',
      ),
    retain: z
      .strictObject({
        claims: retention.default('policy').describe('ablation RVS: all retains every claim shown'),
        posts: retention.default('policy').describe('ablation RSS: all retains every post shown'),
      })
      .prefault({})
      .describe('what the policies decide'),
    pretrain: z
      .strictObject({
        stance: z.boolean().default(true).describe('ablation PTSD: false skips it'),
        veracity: z.boolean().default(true).describe('ablation PTRV: false skips it'),
      })
      .prefault({})
      .describe('pretraining of the task models'),
    tune: z
      .strictObject({
        stance: z.boolean().default(true).describe('ablation FTSD: false never tunes the stance model'),
        veracity: z.boolean().default(true).describe('ablation FTRV: false never tunes the veracity model'),
      })
      .prefault({})
      .describe('tuning of the task models after each epoch'),
    stopAfterFullRewards: z
      .int()
      .min(1)
      .nullable()
      .default(100)
      .describe(
        'ends the training after this many claims in a row with a positive reward, which is the +1 of the paper; null: never',
      ),
    control: z
      .enum(['none', 'shuffled-rewards'])
      .default('none')
      .describe('null control: every step gets the reward of a random one of the last 1,000 steps'),
  })
  .describe('the selector');
export type SelectorConfig = z.output<typeof selectorSchema>;
