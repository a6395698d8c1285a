"""What scikit-learn makes of the splits that benchmarks/local-detector.ts --splits wrote: TF-IDF of words (1-2) and of characters
within words (3-5), claim and replies apart, and a logistic regression with balanced class weights, all else as it comes. It is
trained on prefixes of 1, 2, 4, ... posts and the whole thread. Links and handles are masked, as our detector masks them: the links of
Twitter15's older rumours begin with http:, those of its newer non-rumours with https:, which alone gives a macro-F1 of 0.86.
Needs scikit-learn. Usage: python benchmarks/tf-idf.py folder...
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score


def vectorizers():
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
    return [words, TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)]


def masked(thread):
    texts = [re.sub(r"(https?://|www\.)\S+", "HTTPURL", text) for text in thread["texts"]]
    return {**thread, "texts": [re.sub(r"@\w+", "@USER", text) for text in texts]}


def lengths(posts):
    return [2**power for power in range(20) if 2**power < posts] + [posts]


def measure(path):
    split = {part: list(map(masked, threads)) for part, threads in json.loads(path.read_text()).items()}
    parts = {"claim": lambda texts: texts[0], "replies": lambda texts: "\n".join(texts[1:]) or " "}
    fitted = [(of, v.fit([of(thread["texts"]) for thread in split["train"]])) for of in parts.values() for v in vectorizers()]
    features = lambda prefixes: hstack([v.transform([of(texts) for texts in prefixes]) for of, v in fitted]).tocsr()
    rows = [(thread, length) for thread in split["train"] for length in lengths(len(thread["texts"]))]
    weights = [1 / len(lengths(len(thread["texts"]))) for thread, _ in rows]
    model = LogisticRegression(class_weight="balanced", max_iter=2000)
    model.fit(features([t["texts"][:n] for t, n in rows]), [t["label"] for t, _ in rows], sample_weight=weights)
    gold = [thread["label"] for thread in split["test"]]
    said = lambda posts: model.predict(features([thread["texts"][:posts] for thread in split["test"]]))
    return [f1_score(gold, said(posts), average="macro") for posts in (1, 5, 10**9)]


for folder in sys.argv[1:]:
    scores = np.array([measure(path) for path in sorted(Path(folder).glob("seed-*.json"))])
    means, deviations = scores.mean(0), scores.std(0, ddof=min(1, len(scores) - 1))
    print(folder, " / ".join(f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in zip(means, deviations)), flush=True)
