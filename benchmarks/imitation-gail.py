"""Trains GAIL of the library `imitation`, with PPO of stable-baselines3, on a world that other-code.ts wrote, and prints JSON about it:

    python imitation-gail.py folder --seed 1 --iterations 300

What a user of that library would write for a stop agent: a Gymnasium environment that shows a thread post by post, the two experts that
may be imitated (GAIL there has no expert to push away from, and no weights), and our default settings wherever it has them.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import Transitions
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util import logger
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

CONTINUE, STOP = 0, 1
STEPS_PER_ITERATION = 200

parser = argparse.ArgumentParser()
parser.add_argument("world", type=Path)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--iterations", type=int, required=True)
options = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(options.seed)
random = np.random.default_rng(options.seed)

world = json.loads((options.world / "world.json").read_text())
vectors = np.fromfile(options.world / "vectors.f32", "<f4").reshape(-1, world["dimensions"])
action_vectors = vectors[-2:]


def threads_of(part):
    """Of each thread, the rows of its posts."""
    entries = json.loads((options.world / f"{part}.json").read_text()).values()
    return [[int(text[1:]) for text in entry["seq"]["texts"]] for entry in entries]


demonstrations, environment, test = (threads_of(part) for part in ("demonstrations", "environment", "test"))


def states_of(rows):
    """[steps, 2, dimensions]: the sum of the posts seen and the vector of the action before, which is `continue` at the first."""
    seen = np.cumsum(vectors[rows], axis=0, dtype=np.float64)
    return (seen[:, None, :] + action_vectors[None, :, :]).astype(np.float32)


taught = np.concatenate([states_of(rows).reshape(-1, world["dimensions"]) for rows in demonstrations + environment])
shift, scale = taught.mean(axis=0), taught.std(axis=0) + 1e-6


def observations_of(rows):
    return (states_of(rows) - shift) / scale


class Threads(gymnasium.Env):
    """Threads of three posts or more, in shuffled passes. An episode runs to the last post, whatever the action."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (world["dimensions"],), np.float32)

    def __init__(self):
        self.threads = [observations_of(rows) for rows in environment if len(rows) >= 3]
        self.order = []

    def reset(self, *, seed=None, options=None):
        if not self.order:
            self.order = random.permutation(len(self.threads)).tolist()
        self.thread, self.step_index = self.threads[self.order.pop()], 0
        return self.thread[0, CONTINUE], {}

    def step(self, action):
        self.step_index += 1
        is_last = self.step_index == len(self.thread)
        # What follows the last post is never acted upon.
        observation = self.thread[min(self.step_index, len(self.thread) - 1), int(action)]
        return observation, 0.0, is_last, False, {}


def expert_transitions():
    observations, actions, following, ends = [], [], [], []
    for expert in ("conservative", "earlyAction"):
        for thread, stop_step in world["experts"][expert]:
            states = observations_of(demonstrations[thread])
            taken = np.where(np.arange(len(states)) >= stop_step, STOP, CONTINUE)
            before = np.concatenate([[CONTINUE], taken[:-1]])
            own = states[np.arange(len(states)), before]
            observations.append(own)
            actions.append(taken)
            following.append(np.concatenate([own[1:], own[-1:]]))
            ends.append(np.arange(len(states)) == len(states) - 1)
    obs = np.concatenate(observations)
    return Transitions(
        obs=obs,
        acts=np.concatenate(actions),
        infos=np.array([{}] * len(obs)),
        next_obs=np.concatenate(following),
        dones=np.concatenate(ends),
    )


venv = DummyVecEnv([Threads])
ppo = PPO(
    "MlpPolicy",
    venv,
    n_steps=STEPS_PER_ITERATION,
    batch_size=STEPS_PER_ITERATION // 4,
    n_epochs=4,
    clip_range=0.1,
    clip_range_vf=0.1,
    ent_coef=0.01,
    learning_rate=3e-4,
    gamma=0.99,
    gae_lambda=0.97,
    policy_kwargs={"net_arch": [64, 64], "activation_fn": torch.nn.Tanh},
    seed=options.seed,
    device="cpu",
)
gail = GAIL(
    demonstrations=expert_transitions(),
    demo_batch_size=64,
    venv=venv,
    gen_algo=ppo,
    reward_net=BasicRewardNet(venv.observation_space, venv.action_space, use_next_state=False, hid_sizes=(100, 100)),
    gen_train_timesteps=STEPS_PER_ITERATION,
    gen_replay_buffer_capacity=STEPS_PER_ITERATION,
    # Five passes of three minibatches.
    n_disc_updates_per_round=15,
    disc_opt_kwargs={"lr": 1e-4},
    allow_variable_horizon=True,
    custom_logger=logger.configure(tempfile.mkdtemp(), []),
)
marks = [time.process_time()]
with contextlib.redirect_stdout(sys.stderr):
    gail.train(STEPS_PER_ITERATION * options.iterations, callback=lambda _: marks.append(time.process_time()))


def decision(rows):
    """The first post at which stopping is the likelier action, or the last."""
    actions, _ = ppo.predict(observations_of(rows)[:, CONTINUE], deterministic=True)
    stops = np.flatnonzero(actions == STOP)
    used = int(stops[0]) + 1 if len(stops) > 0 else len(rows)
    judgements = world["judgements"][f"p{rows[0]}"]
    answer = judgements[min(used, len(judgements)) - 1]
    return {"postsUsed": used, "label": {"No": 0, "Yes": 1}.get(answer, -1)}


print(
    json.dumps(
        {
            "torch": torch.__version__,
            "secondsOfIterations": np.diff(marks).tolist(),
            "demonstrations": {expert: len(made) for expert, made in world["experts"].items()},
            "decisions": [decision(rows) for rows in test],
        }
    )
)
