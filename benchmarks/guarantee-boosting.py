"""Gradient boosting as a stopping score, beside the settled one: the same target (is the detector's prediction the one after all posts?)
and the same threads to learn from, every thread with the same weight. 14 features of the judgements so far, scikit-learn's defaults.
Adds `boosting` to the rows of benchmarks/guarantee-scores.ts, in place.

Needs scikit-learn. Usage: python benchmarks/guarantee-boosting.py scores/*.jsonl"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier


def features(row):
    """[posts, 14]"""
    labels, confidence = row["labels"], np.array(row["confidence"])
    hours = [hour if hour is not None else -1.0 for hour in row["hours"]]
    rows = []
    changes, since_change = 0, 0
    for index, label in enumerate(labels):
        changed = index > 0 and label != labels[index - 1]
        changes += changed
        since_change = 0 if changed else since_change + 1
        seen = confidence[: index + 1]
        same = np.array(labels[: index + 1]) == label
        last = seen[-5:]
        rows.append(
            [
                index + 1,
                hours[index],
                hours[index] - hours[index - 1] if index > 0 else 0.0,
                seen[-1],
                seen.mean(),
                seen.min(),
                seen.max(),
                last.mean(),
                last.std(),
                seen[-1] - seen[max(0, index - 1)],
                seen[-1] - seen[max(0, index - 5)],
                changes,
                since_change,
                same.mean(),
            ]
        )
    return np.array(rows)


def score(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    learnt = [row for row in rows if row["isLearnt"]]
    states = np.concatenate([features(row) for row in learnt])
    final = np.concatenate([np.array(row["labels"]) == row["labels"][-1] for row in learnt])
    weights = np.concatenate([np.full(len(row["labels"]), 1 / len(row["labels"])) for row in learnt])
    model = GradientBoostingClassifier(random_state=0).fit(states, final, sample_weight=weights)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            row["boosting"] = model.predict_proba(features(row))[:, 1].tolist()
            file.write(json.dumps(row) + "\n")
    print(path, len(learnt), "threads to learn from,", len(rows) - len(learnt), "scored")


for name in sys.argv[1:]:
    score(Path(name))
