"""
One iteration of GAIL and PPO as a compiled JAX program, with the shapes of Earshot's defaults: 200 steps, 15 updates of the discriminator
with its gradient penalty, 16 of policy and value. States and demonstrations are noise, and episodes have no ends: it is there to be timed.
Called by beside-jax.ts with numbers per state, runs, mode and timed iterations; mode is `alg` (the penalty by Earshot's identities) or
`naive` (JAX differentiates twice). Prints "<ms> per run".
"""

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp

columns, members, mode, timed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
warmup = 5
table_rows, steps, batch, experts = 5500, 200, 64, 3
alpha, beta, gamma = 0.7, 0.15, 0.15
agent_weight = alpha + beta - gamma
# The agent, then the conservative, the early-action and the misleading expert, which counts as the agent's.
labels = jnp.repeat(jnp.array([0.0, 1.0, 1.0, 0.0]), batch)
weights = jnp.repeat(jnp.array([1.0, alpha / agent_weight, beta / agent_weight, gamma / agent_weight]), batch) / batch
penalties = 10 * weights[batch:]
table = jax.random.normal(jax.random.key(0), (table_rows, columns))


def dense(key, inputs, outputs, scale=1.0):
    return {"w": scale * jax.random.normal(key, (inputs, outputs)) / inputs**0.5, "b": jnp.zeros(outputs)}


def perceptron(key, sizes, last_scale=1.0):
    keys = jax.random.split(key, 3)
    scales = (1.0, 1.0, last_scale)
    return [dense(own, sizes[i], sizes[i + 1], scales[i]) for i, own in enumerate(keys)]


def above_first(layers, first_sums):
    hidden1 = jnp.tanh(first_sums)
    hidden2 = jnp.tanh(hidden1 @ layers[1]["w"] + layers[1]["b"])
    return hidden1, hidden2, hidden2 @ layers[2]["w"] + layers[2]["b"]


def forward(layers, inputs):
    return above_first(layers, inputs @ layers[0]["w"] + layers[0]["b"])[2]


def mixed(rows, shares):
    agents = jnp.tile(rows[:batch], (experts, 1))
    return agents + shares * (rows[batch:] - agents)


def cross_entropy(logits):
    return jnp.sum(weights * (jax.nn.softplus(logits) - labels * logits))


def discriminator_loss(layers, pairs, shares):
    """The gradient penalty's norms by two identities: mixed inputs have mixed first sums, and |W v|² is vᵀ(WᵀW)v."""
    first_sums = pairs @ layers[0]["w"] + layers[0]["b"]
    logits = above_first(layers, first_sums)[2][:, 0]
    hidden1, hidden2, _ = above_first(layers, mixed(first_sums, shares))
    v2 = (1 - hidden2**2) * layers[2]["w"][:, 0]
    v = (v2 @ layers[1]["w"].T) * (1 - hidden1**2)
    gram = layers[0]["w"].T @ layers[0]["w"]
    norms = jnp.sqrt(jnp.sum((v @ gram) * v, 1) + 1e-12)
    return cross_entropy(logits) + jnp.sum(penalties * (norms - 1) ** 2)


def plain_discriminator_loss(layers, pairs, shares):
    gradients = jax.grad(lambda inputs: jnp.sum(forward(layers, inputs)))(mixed(pairs, shares))
    norms = jnp.sqrt(jnp.sum(gradients**2, 1) + 1e-12)
    return cross_entropy(forward(layers, pairs)[:, 0]) + jnp.sum(penalties * (norms - 1) ** 2)


loss_of_discriminator = discriminator_loss if mode == "alg" else plain_discriminator_loss


def policy_loss(networks, batch):
    log_probabilities = jax.nn.log_softmax(forward(networks["policy"], batch["states"]))
    values = forward(networks["value"], batch["states"])[:, 0]
    chosen = jnp.take_along_axis(log_probabilities, batch["actions"][:, None], 1)[:, 0]
    ratio = jnp.exp(chosen - batch["old"])
    advantages = (batch["advantages"] - batch["advantages"].mean()) / (batch["advantages"].std() + 1e-8)
    surrogate = jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.9, 1.1) * advantages)
    clipped = batch["values"] + jnp.clip(values - batch["values"], -0.1, 0.1)
    value_loss = 0.5 * jnp.maximum((values - batch["returns"]) ** 2, (clipped - batch["returns"]) ** 2)
    entropy = -jnp.sum(jnp.exp(log_probabilities) * log_probabilities, 1)
    return jnp.mean(0.5 * value_loss - surrogate - 0.01 * entropy)


def adam(state, gradients, learning_rate, epsilon, max_norm=None):
    parameters, first, second, updates = state
    updates = updates + 1
    if max_norm is not None:
        norm = jnp.sqrt(sum(jnp.sum(own**2) for own in jax.tree.leaves(gradients)))
        scale = jnp.minimum(1.0, max_norm / (norm + 1e-6))
        gradients = jax.tree.map(lambda own: own * scale, gradients)
    first = jax.tree.map(lambda old, own: 0.9 * old + 0.1 * own, first, gradients)
    second = jax.tree.map(lambda old, own: 0.999 * old + 0.001 * own**2, second, gradients)
    size = learning_rate * jnp.sqrt(1 - 0.999**updates) / (1 - 0.9**updates)
    moved = jax.tree.map(lambda p, m, v: p - size * m / (jnp.sqrt(v) + epsilon), parameters, first, second)
    return moved, first, second, updates


def iteration(states, key):
    discriminator, agent = states
    keys = jax.random.split(key, 4)
    # Twice as many states as steps are scored, as a rollout in one batch needs.
    reachable = jax.random.randint(keys[0], (2 * steps,), 0, table_rows)
    log_probabilities = jax.nn.log_softmax(forward(agent[0]["policy"], table[reachable]))[:steps]
    values = forward(agent[0]["value"], table[reachable])[:steps, 0]
    rows = reachable[:steps]
    actions = (jax.random.uniform(keys[1], (steps,)) < jnp.exp(log_probabilities[:, 1])).astype(jnp.int32)
    old = jnp.take_along_axis(log_probabilities, actions[:, None], 1)[:, 0]

    def with_actions(states, actions):
        return jnp.concatenate([states, actions.astype(jnp.float32)[:, None]], 1)

    def discriminator_step(state, key):
        of_agent, of_experts, of_shares = jax.random.split(key, 3)
        places = jax.random.randint(of_agent, (batch,), 0, steps)
        shown = jax.random.randint(of_experts, (experts * batch,), 0, table_rows)
        states = jnp.concatenate([table[rows[places]], table[shown]])
        pairs = with_actions(states, jnp.concatenate([actions[places], shown % 2]))
        shares = jax.random.uniform(of_shares, (experts * batch, 1))
        return adam(state, jax.grad(loss_of_discriminator)(state[0], pairs, shares), 1e-4, 1e-8), None

    discriminator, _ = jax.lax.scan(discriminator_step, discriminator, jax.random.split(keys[2], 15))
    rewards = forward(discriminator[0], with_actions(table[rows], actions))[:, 0]

    def backwards(later, step):
        advantage, next_value = later
        reward, value = step
        advantage = reward + 0.99 * next_value - value + 0.99 * 0.97 * advantage
        return (advantage, value), advantage

    _, advantages = jax.lax.scan(backwards, (0.0, 0.0), (rewards, values), reverse=True)
    collected = {
        "actions": actions,
        "old": old,
        "values": values,
        "advantages": advantages,
        "returns": advantages + values,
    }

    def policy_step(state, key):
        places = jax.random.randint(key, (50,), 0, steps)
        minibatch = {name: own[places] for name, own in collected.items()} | {"states": table[rows[places]]}
        return adam(state, jax.grad(policy_loss)(state[0], minibatch), 3e-4, 1e-5, 0.5), None

    agent, _ = jax.lax.scan(policy_step, agent, jax.random.split(keys[3], 16))
    return (discriminator, agent), rewards.mean()


def start(key):
    of_discriminator, of_policy, of_value = jax.random.split(key, 3)
    discriminator = perceptron(of_discriminator, (columns + 1, 100, 100, 1))
    agent = {
        "policy": perceptron(of_policy, (columns, 64, 64, 2), 0.01),
        "value": perceptron(of_value, (columns, 64, 64, 1)),
    }
    zeros = lambda parameters: jax.tree.map(jnp.zeros_like, parameters)
    return tuple((own, zeros(own), zeros(own), 0.0) for own in (discriminator, agent))


def keys_of(number):
    key = jax.random.key(number)
    return jax.random.split(key, members) if members > 1 else key


states = (jax.vmap(start) if members > 1 else start)(keys_of(0))
compiled = jax.jit(jax.vmap(iteration) if members > 1 else iteration)
for number in range(warmup):
    states, rewards = compiled(states, keys_of(number + 1))
    jax.block_until_ready(rewards)
# A GPU's time is none of the processor's.
clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
before = clock()
for number in range(timed):
    states, rewards = compiled(states, keys_of(number + 100))
    jax.block_until_ready(rewards)
milliseconds = (clock() - before) / timed * 1000
print(f"JAX {jax.__version__}: {milliseconds / members:.3f} per run, {1000 * members / milliseconds:.0f} iterations per second of {members}")
