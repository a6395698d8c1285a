import * as tf from '@tensorflow/tfjs-core';
import { askAction, NOT_ALLOWED, type QueryEpisode, type QueryMdp, queryEpisode, WAIT } from '../../envs/query-env.ts';
import { standardized } from '../../src/tensor/normalizer.ts';
import { paddedCount } from '../../src/tensor/onnx/compiled.ts';
import { actionMask, scoreQueryActions } from '../query-return.ts';
import { parameterTensors, type StopPolicy } from '../stop-agent/policy.ts';
import { type KnownJudgement, mdpOf, type QueryThread, queryStates } from './states.ts';

/** A trained agent with several detectors: network and normaliser, as those of a stop agent. */
export type QueryPolicy = StopPolicy;

/** What a policy does with threads of which all is known: in each state its likeliest action. */
export async function decideQueries(
  policy: QueryPolicy,
  { threads, labels }: { threads: readonly QueryThread[]; labels: number },
): Promise<QueryEpisode[]> {
  const episodes: QueryEpisode[] = [];
  for (const thread of threads) {
    const mdp = mdpOf(thread);
    const scores = await actionScores(policy, { mdp, states: queryStates(thread, { mdp, labels }) });
    episodes.push(queryEpisode(mdp, (state) => likeliestAction(scores, { mdp, state })));
  }
  return episodes;
}

/** What a policy does with a thread whose detectors are asked when it wants to know, and never else. */
export async function actAsAsked(
  policy: QueryPolicy,
  thread: {
    mdp: QueryMdp;
    lengths: readonly number[];
    labels: number;
    ask: (step: number, detector: number) => Promise<KnownJudgement>;
  },
): Promise<QueryEpisode> {
  const { mdp, lengths, labels, ask } = thread;
  const judgements = lengths.map(() => Array.from({ length: mdp.detectors }, (): KnownJudgement | null => null));
  const plan = new Map<number, number>();
  for (let state = 0; state >= 0; ) {
    const states = queryStates({ lengths, judgements }, { mdp, labels });
    const action = likeliestAction(await actionScores(policy, { mdp, states }), { mdp, state });
    plan.set(state, action);
    for (let detector = 0; detector < mdp.detectors; detector++)
      if (action === askAction(detector)) judgements[mdp.step[state]][detector] = await ask(mdp.step[state], detector);
    state = mdp.next[state * mdp.actions + action];
  }
  return queryEpisode(mdp, (state) => plan.get(state) ?? WAIT);
}

function likeliestAction(scores: Float32Array, { mdp, state }: { mdp: QueryMdp; state: number }): number {
  let best = -1;
  for (let action = 0; action < mdp.actions; action++) {
    const pair = state * mdp.actions + action;
    if (mdp.next[pair] === NOT_ALLOWED) continue;
    if (best < 0 || scores[pair] > scores[state * mdp.actions + best]) best = action;
  }
  return best;
}

/** ln π(a | s) in each of a thread's states, row-major [states, actions]. */
async function actionScores(
  policy: QueryPolicy,
  { mdp, states: data }: { mdp: QueryMdp; states: Float32Array },
): Promise<Float32Array> {
  const columns = policy.parameters.w1.rows;
  const rows = mdp.step.length;
  if (data.length !== rows * columns)
    throw new Error(`the policy reads states of ${columns} numbers, and these have ${data.length / rows}`);
  const padded = new Float32Array(paddedCount(rows) * columns);
  padded.set(standardized({ data, columns }, policy.moments).data);
  const parameters = parameterTensors(policy);
  const states = {
    observations: tf.tensor3d(padded, [1, paddedCount(rows), columns]),
    mask: actionMask([{ mdp }], paddedCount(rows)),
  };
  const { logProbabilities } = scoreQueryActions({ parameters, states });
  const scores = await logProbabilities.data<'float32'>();
  tf.dispose([parameters, states.observations, states.mask, logProbabilities]);
  return scores;
}
