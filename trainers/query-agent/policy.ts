import * as tf from '@tensorflow/tfjs-core';
import { NOT_ALLOWED, type QueryEpisode, queryEpisode } from '../../envs/query-env.ts';
import { standardized } from '../../src/tensor/normalizer.ts';
import { paddedCount } from '../../src/tensor/onnx/compiled.ts';
import { actionMask, scoreQueryActions } from '../query-return.ts';
import { parameterTensors, type StopPolicy } from '../stop-agent/policy.ts';
import { mdpOf, type QueryThread, queryStates } from './states.ts';

/** A trained agent with several detectors: network and normaliser, as those of a stop agent. */
export type QueryPolicy = StopPolicy;

/** What a policy does with a thread: in each state its likeliest action. */
export async function decideQueries(
  policy: QueryPolicy,
  { threads, labels }: { threads: readonly QueryThread[]; labels: number },
): Promise<QueryEpisode[]> {
  const parameters = parameterTensors(policy);
  const episodes: QueryEpisode[] = [];
  try {
    for (const thread of threads) {
      const mdp = mdpOf(thread);
      const scores = await likelihoods(queryStates(thread, { mdp, labels }), { policy, parameters, mdp });
      episodes.push(
        queryEpisode(mdp, (state) => {
          let best = -1;
          for (let action = 0; action < mdp.actions; action++) {
            const pair = state * mdp.actions + action;
            if (mdp.next[pair] === NOT_ALLOWED) continue;
            if (best < 0 || scores[pair] > scores[state * mdp.actions + best]) best = action;
          }
          return best;
        }),
      );
    }
  } finally {
    tf.dispose(parameters);
  }
  return episodes;
}

async function likelihoods(
  data: Float32Array,
  of: { policy: QueryPolicy; parameters: ReturnType<typeof parameterTensors>; mdp: ReturnType<typeof mdpOf> },
): Promise<Float32Array> {
  const { policy, parameters, mdp } = of;
  const columns = policy.parameters.w1.rows;
  const rows = mdp.step.length;
  if (data.length !== rows * columns)
    throw new Error(`the policy reads states of ${columns} numbers, and these have ${data.length / rows}`);
  const padded = new Float32Array(paddedCount(rows) * columns);
  padded.set(standardized({ data, columns }, policy.moments).data);
  const states = {
    observations: tf.tensor3d(padded, [1, paddedCount(rows), columns]),
    mask: actionMask([{ mdp }], paddedCount(rows)),
  };
  const { logProbabilities } = scoreQueryActions({ parameters, states });
  const scores = await logProbabilities.data<'float32'>();
  tf.dispose([states.observations, states.mask, logProbabilities]);
  return scores;
}
