import { describe, expect, it } from 'vitest';
import { selectorClaims } from '../../experiments/selector/data.ts';
import { epochMetrics } from '../../experiments/selector/epoch-record.ts';
import { createLocalStanceModel } from '../../experts/task-models/local/stance.ts';
import { createLocalVeracityModel } from '../../experts/task-models/local/veracity.ts';
import { plantedStances } from '../../src/data/synthetic/planted-stances.ts';
import { createHashingEncoder } from '../../src/text/hashing-encoder.ts';
import { selectorSchema } from '../../trainers/selector/config.ts';
import { createSelector } from '../../trainers/selector/jsdrv.ts';
import { trainEpochs } from '../trainers/selector/train-epochs.ts';

/*
 * Claims whose replies mislead: a policy that works discards them, labelled or not, having been told only the veracity of the
 * labelled ones. Local models, as in selector-planted.yaml, with honest replies, so that few epochs are enough.
 */

const { train } = plantedStances({ threads: 120, replies: 6, slipperyShare: 0, campaignShare: 0.3, seed: 2 });
const campaigns = new Set(
  train.flatMap(({ posts: [claim] }, index) => (claim.text.startsWith('reports about') ? [] : [index])),
);

async function lastEpoch(config: { control?: 'shuffled-rewards' } = {}) {
  const claims = selectorClaims(train, { seedShare: 0.5, seed: 1 });
  const encoder = createHashingEncoder({ dimensions: 128 });
  const embed = (texts: readonly string[]) => encoder.encode(texts);
  const models = () => createHashingEncoder({ dimensions: 256 });
  const trainer = createSelector({
    claims,
    stanceModel: createLocalStanceModel({ encoder: models() }),
    veracityModel: createLocalVeracityModel({
      encoder: models(),
      options: { claimWeight: 0, postWeight: 0, postCountWeight: 0 },
    }),
    stancePretraining: [],
    embedTexts: embed,
    embedExplanations: embed,
    dimensions: encoder.dimensions,
    config: selectorSchema.parse({
      epochs: 20,
      learningRate: 0.03,
      entropy: 0.05,
      unlabelledReward: 'none',
      labelledClaims: 'always',
      retain: { posts: 'all' },
      // Honest replies say their stance in plain words.
      tune: { stance: false },
      stopAfterFullRewards: null,
      ...config,
    }),
    seed: 1,
  });
  const selections = await trainEpochs(trainer);
  const selection = selections[selections.length - 1];
  const retained = (isCampaign: boolean) => {
    const own = selection.claims.filter(
      ({ claim }) => claims[claim].label === null && campaigns.has(claim) === isCampaign,
    );
    return own.filter(({ isRetained }) => isRetained).length / own.length;
  };
  const metrics = epochMetrics({ selection, claims, threads: train });
  return {
    campaigns: retained(true),
    others: retained(false),
    right: metrics['hidden/veracityPrecision'],
    retainedRight: metrics['hidden/veracityRetainedPrecision'],
  };
}

describe('on planted campaigns, the policy of claims', () => {
  it('discards unlabelled campaigns and keeps the others, so that what it retains is right more often', async () => {
    const { campaigns: ofCampaigns, others, right, retainedRight } = await lastEpoch();
    expect(others).toBeGreaterThan(0.75);
    expect(ofCampaigns).toBeLessThan(0.35);
    expect(retainedRight - right).toBeGreaterThan(0.1);
  });

  it('tells nothing apart where the rewards are those of other steps', async () => {
    const { campaigns: ofCampaigns, others } = await lastEpoch({ control: 'shuffled-rewards' });
    expect(Math.abs(others - ofCampaigns)).toBeLessThan(0.35);
  });
});
