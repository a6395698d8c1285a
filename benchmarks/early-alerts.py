"""Scores of two usual early classifiers after every post, for the splits that benchmarks/early-alerts.ts writes.

PySS3 (Burdisso et al. 2019), https://pypi.org/project/pyss3: the share of the confidence of all words so far that is for an alert. Its
own policy alerts above 0.5. TF-IDF of words and of characters within words, and a logistic regression trained on prefixes of 1, 2, 4, …
posts. Hyperparameters of both are chosen by five-fold macro-F1 on the training threads. Links and handles are masked. A run of Chinese
is read as its characters and pairs of them.

Usage: python benchmarks/early-alerts.py split.json. Reads {train: [{texts, alert}], asked: [{texts}]} and prints
{ss3: {scores, seconds}, tfidf: {scores, seconds}}: one list per asked thread; processor seconds of training and scoring.
"""

import json
import re
import sys
import time
from itertools import product

import numpy as np
from pyss3 import SS3
from pyss3.util import Print
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

CHINESE = r"[぀-ヿ㐀-鿿]"
Print.set_verbosity(0)


def masked(text):
    text = re.sub(r"(https?://|www\.)\S+", " httpurl ", text)
    return re.sub(r"@\w+", " user ", text).lower()


def words(text):
    own = []
    for run in re.findall(rf"{CHINESE}+|[^\W぀-ヿ㐀-鿿]+", text):
        own += [*run, *map("".join, zip(run, run[1:]))] if re.match(CHINESE, run) else [run]
    return own


def in_ascii(word):
    """PySS3 takes lists of texts for the same ones if they differ in other characters only."""
    return word if word.isascii() else "".join(f"u{ord(character):x}" for character in word)


def folds(labels):
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels))


def ss3(train, asked):
    documents = [[" ".join(map(in_ascii, words(text))) or " " for text in thread["texts"]] for thread in train + asked]
    labels = np.array([thread["alert"] for thread in train])
    whole = [" ".join(posts) for posts in documents[: len(train)]]

    def fitted(of):
        model = SS3()
        model.fit([whole[i] for i in of], ["yes" if labels[i] else "no" for i in of], prep=False, leave_pbar=False)
        return model

    def shares(model, texts):
        values = np.array(model.predict_proba(texts, prep=False, leave_pbar=False)).reshape(len(texts), 2)
        yes = model.get_category_index("yes")
        return values[:, yes], values.sum(1)

    models = [(fitted(known), held) for known, held in folds(labels)]
    best = (-1, None)
    for s, l, p in product((0.32, 0.45, 0.6), (0.3, 0.5, 1), (0.5, 1, 2)):
        predicted = np.zeros(len(labels), bool)
        for model, held in models:
            model.set_hyperparameters(s=s, l=l, p=p)
            yes, both = shares(model, [whole[i] for i in held])
            predicted[held] = 2 * yes > both
        best = max(best, (f1_score(labels, predicted, average="macro"), (s, l, p)))
    model = fitted(range(len(train)))
    s, l, p = best[1]
    model.set_hyperparameters(s=s, l=l, p=p)
    scores = []
    for posts in documents[len(train) :]:
        yes, both = (values.cumsum() for values in shares(model, posts))
        scores.append(np.divide(yes, both, out=np.full(len(posts), 0.5), where=both > 0))
    return scores, {"s": s, "l": l, "p": p}


def tfidf(train, asked):
    vectorizers = [
        CountVectorizer(analyzer=lambda text: [*words(text), *map(" ".join, zip(words(text), words(text)[1:]))]),
        CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
    ]
    for vectorizer in vectorizers:
        vectorizer.fit([text for thread in train for text in thread["texts"]])

    def prefixes(thread, lengths=None):
        posts = hstack([vectorizer.transform(thread["texts"]) for vectorizer in vectorizers]).tocsr()
        at = np.arange(1, posts.shape[0] + 1) if lengths is None else np.array(lengths)
        return csr_matrix(np.arange(posts.shape[0])[None, :] < at[:, None]).astype(float) @ posts

    labels = np.array([thread["alert"] for thread in train])
    lengths = [[*(2**i for i in range(20) if 2**i < len(t["texts"])), len(t["texts"])] for t in train]
    rows = np.repeat(np.arange(len(train)), [len(own) for own in lengths])
    counts = vstack([prefixes(*own) for own in zip(train, lengths)]).tocsr()
    weights = 1 / np.bincount(rows)[rows]

    def fitted(inside, c):
        # Both kinds of features are weighted and normalised together.
        transform = TfidfTransformer(sublinear_tf=True).fit(counts[inside])
        model = LogisticRegression(C=c, class_weight="balanced", max_iter=2000)
        model.fit(transform.transform(counts[inside]), labels[rows[inside]], sample_weight=weights[inside])
        return lambda own: model.predict_proba(transform.transform(own))[:, 1]

    last = np.cumsum([len(own) for own in lengths]) - 1
    best = (-1, None)
    for c in (1, 10, 100):
        predicted = np.zeros(len(train), bool)
        for known, held in folds(labels):
            predicted[held] = fitted(np.isin(rows, known), c)(counts[last[held]]) > 0.5
        best = max(best, (f1_score(labels, predicted, average="macro"), c))
    score = fitted(np.ones(len(rows), bool), best[1])
    return [score(prefixes(thread)) for thread in asked], {"C": best[1]}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        split = json.load(file)
    for part in split.values():
        for thread in part:
            thread["texts"] = list(map(masked, thread["texts"]))
    answer = {}
    for name, classifier in (("ss3", ss3), ("tfidf", tfidf)):
        start = time.process_time()
        scores, settings = classifier(split["train"], split["asked"])
        seconds = time.process_time() - start
        print(name, settings, f"{seconds:.0f} s", file=sys.stderr, flush=True)
        answer[name] = {"scores": [np.round(own, 5).tolist() for own in scores], "seconds": seconds}
    print(json.dumps(answer))
