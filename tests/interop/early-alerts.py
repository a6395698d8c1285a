"""ERDE, F_latency and the rates of alerts, straight from their definitions. Reads {cases: [{alerted, positive, used, posts, hours}]}."""

import json
import sys

import numpy as np


def erde(case, o, latency):
    true, said, k = (np.array(case[name]) for name in ("positive", "alerted", latency))
    k = k.astype(float)
    costs = np.select(
        [said & true, said & ~true, ~said & true],
        [1 - 1 / (1 + np.exp(k - o)), np.full(len(k), true.mean()), np.ones(len(k))],
        0.0,
    )
    return costs.mean()


def measured(case):
    true, said = np.array(case["positive"]), np.array(case["alerted"])
    used, hours = np.array(case["used"]), np.array(case["hours"], dtype=float)
    hits = true & said
    precision = hits.sum() / said.sum() if said.any() else 0.0
    recall = hits.sum() / true.sum() if true.any() else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    ps = {"data": -np.log(1 / 3) / max(1, np.median(case["posts"]) - 1), "eRisk": 0.0078}
    speeds = {name: 1 - np.median(-1 + 2 / (1 + np.exp(-p * (used[hits] - 1)))) if hits.any() else None for name, p in ps.items()}
    return {
        "erde": [erde(case, o, latency) for latency in ("used", "hours") for o in (5, 50)],
        "rates": [precision, recall, f1, 1000 * said.mean()],
        "speeds": list(speeds.values()),
        "fLatency": [f1 * (speed or 0) for speed in speeds.values()],
        "delays": [float(np.median(used[hits] - 1)), float(np.median(hours[hits]))] if hits.any() else [None, None],
    }


print(json.dumps([measured(case) for case in json.load(sys.stdin)["cases"]]))
