"""What scikit-learn makes of the splits that benchmarks/local-detector.ts writes: TF-IDF of words (1-2) and of characters within
words (3-5), claim and replies apart, and a logistic regression, all else as it comes. It is trained on prefixes of 1, 2, 4, ... posts
and the whole thread. Two ways to mind unequal classes: balanced class weights, and a number a class that is added to its logit, chosen
for the macro-F1 of out-of-fold logits as our detector chooses it. Links and handles are masked, as our detector masks them: the links
of Twitter15's older rumours begin with http:, those of its newer non-rumours with https:, which alone gives a macro-F1 of 0.86.
With --raw, texts are read as they come.
Needs scikit-learn. Usage: python benchmarks/tf-idf.py [--raw] folder...

Beside each <split>.json it writes <split>.tf-idf.json, or <split>.tf-idf-raw.json: the class of every test thread after 1, 5 and all
posts.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

FOLDS, SWEEPS, QUANTILES = 5, 5, 49
RAW = "--raw" in sys.argv


def vectorizers():
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
    return [words, TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)]


def masked(thread):
    texts = [re.sub(r"(https?://|www\.)\S+", "HTTPURL", text) for text in thread["texts"]]
    return {**thread, "texts": [re.sub(r"@\w+", "@USER", text) for text in texts]}


def lengths(posts):
    return [2**power for power in range(20) if 2**power < posts] + [posts]


def rotated(train, test):
    """The same inner products in as many columns as there are rows, so the same regression in a fraction of the time."""
    products = (train @ train.T).toarray()
    # A little more on the diagonal, because some prefixes are the same.
    root = cholesky(products + 1e-8 * np.eye(len(products)), lower=True)
    return root, solve_triangular(root, (test @ train.T).toarray().T, lower=True).T


def logits(model, features):
    """[rows, classes]; two classes have one logit in scikit-learn."""
    scores = model.decision_function(features)
    return np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores


def macro_f1(gold, said, weights, classes):
    hits, told, real = (
        np.bincount(labels, weights * counted, classes) for labels, counted in ((gold, gold == said), (said, 1), (gold, 1))
    )
    return np.mean(2 * hits / np.maximum(told + real, 1e-12))


def class_offsets(scores, gold, weights):
    classes = scores.shape[1]
    offsets = np.zeros(classes)
    best = macro_f1(gold, scores.argmax(1), weights, classes)
    for _ in range(SWEEPS):
        before = best
        for label in [1] if classes == 2 else range(classes):
            others = np.delete(scores + offsets, label, axis=1).max(1)
            changes = np.sort(others - scores[:, label])
            last = len(changes) - 1
            current = offsets
            for place in sorted({int((index + 1) / (QUANTILES + 1) * last) for index in range(QUANTILES)}):
                tried = current.copy()
                tried[label] = (changes[place] + changes[min(place + 1, last)]) / 2
                score = macro_f1(gold, (scores + tried).argmax(1), weights, classes)
                if score > best + 1e-9:
                    best, offsets = score, tried
        if best == before:
            break
    return offsets


def judgements(split):
    split = {part: threads if RAW else list(map(masked, threads)) for part, threads in split.items()}
    rows = [(index, length) for index, thread in enumerate(split["train"]) for length in lengths(len(thread["texts"]))]
    thread_of_row = np.array([index for index, _ in rows])
    prefixes = [split["train"][index]["texts"][:length] for index, length in rows]
    asked = [thread["texts"][:posts] for posts in (1, 5, None) for thread in split["test"]]
    parts = {"claim": lambda texts: texts[0], "replies": lambda texts: "\n".join(texts[1:]) or " "}
    fitted = [(of, v.fit([of(thread["texts"]) for thread in split["train"]])) for of in parts.values() for v in vectorizers()]
    features = lambda texts: hstack([v.transform([of(own) for own in texts]) for of, v in fitted]).tocsr()
    train, test = rotated(features(prefixes), features(asked))
    label_of_thread = np.array([thread["label"] for thread in split["train"]])
    labels = label_of_thread[thread_of_row]
    weights = 1 / np.bincount(thread_of_row)[thread_of_row]
    fit = lambda of, balance: LogisticRegression(class_weight=balance, max_iter=2000).fit(train[of], labels[of], sample_weight=weights[of])
    everything = np.ones(len(rows), bool)

    balanced = fit(everything, "balanced").predict(test)
    held_out = np.zeros((len(rows), label_of_thread.max() + 1))
    folds = StratifiedKFold(min(FOLDS, np.bincount(label_of_thread).min()), shuffle=True, random_state=0)
    for known, _ in folds.split(label_of_thread, label_of_thread):
        inside = np.isin(thread_of_row, known)
        held_out[~inside] = logits(fit(inside, None), train[~inside])
    offsets = class_offsets(held_out, labels, weights)
    shifted = (logits(fit(everything, None), test) + offsets).argmax(1)
    return {name: said.reshape(3, -1).tolist() for name, said in (("balanced", balanced), ("offsets", shifted))}


for folder in (word for word in sys.argv[1:] if word != "--raw"):
    for path in sorted(Path(folder).glob("*.split.json")):
        answer = path.with_name(path.name.replace(".split.json", ".tf-idf-raw.json" if RAW else ".tf-idf.json"))
        if not answer.exists():
            answer.write_text(json.dumps(judgements(json.loads(path.read_text()))))
            print(answer, file=sys.stderr, flush=True)
