#!/usr/bin/env python3
"""A stop policy, exported by Earshot: reads a thread post by post and stops when enough was read.

Needs numpy and onnxruntime, nothing else. From a program:

    policy = Policy("folder of the bundle")
    decision = policy.decide(["the claim", "a reply", "another reply"], thread_id="t1")
    decision.posts_used, decision.why, decision.prediction, decision.queries, decision.scores, decision.hours, decision.out_of_distribution,
    decision.trained_on

A post may also be {"text": ..., "time": ...}, with a time in ISO 8601 or None. Deadlines in hours read it, and so do detectors and
students that were trained with times. A thread can also be read as it grows:

    thread = policy.open()
    reading = thread.read("the claim")          # reading.why is None while it reads on
    reading = thread.wait(hours=1.5)            # no post has come, so long after the claim
    reading, prediction = thread.end(), thread.predict()

Where the bundle does not hold the detector, give it: Policy(folder, judge=f), f(texts) -> {"label": ..., "probabilities": {...} or None}.

Threads that `is_audited(thread_id, share, seed)` draws are read on to their end; `policy.audit(thread_id, posts, share)` gives a line for
`earshot monitor`.

From a shell, threads as JSON Lines on standard input, {"id": ..., "posts": [{"id": ..., "text": ...}, ...]}. What `earshot decide`
refuses is refused here, too (refusals.jsonl), and threads that the policy learnt from are left out:

    python earshot_policy.py < threads.jsonl

The order below is that of a decision: text -> embedding -> state -> score -> stop.
"""

from __future__ import annotations

import argparse
import base64
import bisect
import hashlib
import json
import math
import os
import re
import sys
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(
        description="Decide when enough of a thread was seen; threads as JSON Lines on standard input, a decision a line.",
        epilog="example: python earshot_policy.py < threads.jsonl > decisions.jsonl",
    )
    parser.add_argument("folder", nargs="?", default=Path(__file__).parent, help="the bundle; that of this file unless given")
    parser.add_argument(
        "--include-trained", action="store_true", help="keep threads that the policy was trained on, known by their id and claim"
    )
    return parser.parse_args()


# Before the packages, so that --help works without them.
GIVEN = arguments() if __name__ == "__main__" else None

try:
    import numpy as np
    import onnxruntime
except ImportError as problem:
    needed = f"numpy and onnxruntime are needed ({problem}): python -m pip install numpy onnxruntime"
    if __name__ == "__main__":
        sys.exit(f"earshot_policy.py: {needed}")
    raise ImportError(needed) from problem

TOLERANCE = 1e-5


class BundleError(Exception):
    """A file of the bundle was changed, or decides differently here than it did when it was exported."""


class ThreadError(Exception):
    """A line of standard input is no thread."""


# --- Text: Unicode NFKC, single spaces, handles and links masked, lower case -----------------------------------------

SEPARATOR, IGNORED, LETTER, IDEOGRAPH, SYMBOL = 1, 2, 3, 4, 5
LETTER_OR_NUMBER, HAN, UNASSIGNED = 8, 16, 32
# What JavaScript calls white space; Python's \s differs.
SPACES = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
HANDLE = re.compile("@[A-Za-z0-9_]+")
LINK_START = re.compile(r"\b(?:https?://|www\.)", re.ASCII | re.IGNORECASE)


class Characters:
    """How characters are read. The tables come from the program that trained the policy, because Python may know an
    older or a newer Unicode. Only the order of combining marks that Python does not know yet is left as it is."""

    def __init__(self, table):
        self.starts = [start for start, _ in table["classes"]]
        self.flags = [flags for _, flags in table["classes"]]
        self.compatibility = table["compatibility"]
        self.lowercase = table["lowercase"]
        self.known = {}

    def of(self, character):
        flags = self.known.get(character)
        if flags is None:
            flags = self.flags[bisect.bisect_right(self.starts, ord(character)) - 1]
            self.known[character] = flags
        return flags

    def by_python(self, text, change, table):
        """`change`, an operation of Python's own Unicode, on what both versions know. What only the table knows is
        looked up there; what only Python knows stays as it is."""
        if text.isascii():
            return change(text)
        parts, start = [], 0
        for index, character in enumerate(text):
            if self.of(character) & UNASSIGNED:
                parts += [change(text[start:index]), character]
            elif unicodedata.category(character) == "Cn":
                parts += [change(text[start:index]), table.get(character, character)]
            else:
                continue
            start = index + 1
        return "".join(parts + [change(text[start:])])

    def normalize(self, text):
        composed = self.by_python(text, lambda part: unicodedata.normalize("NFKC", part), self.compatibility)
        return SPACES.sub(" ", composed).strip(" ")

    def lower(self, text):
        return self.by_python(text, str.lower, self.lowercase)

    def mask(self, text):
        """Handles become @USER and links HTTPURL."""
        parts, start = [], 0
        for match in LINK_START.finditer(text):
            if match.start() < start:
                continue
            end = match.end()
            while end < len(text) and not self.ends_link(text[end]):
                end += 1
            if end > match.end():
                parts += [text[start : match.start()], "HTTPURL"]
                start = end
        text = "".join(parts + [text[start:]])
        return HANDLE.sub(lambda match: match[0] if self.follows_word(text, match.start()) else "@USER", text)

    def ends_link(self, character):
        if SPACES.match(character) or "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef":
            return True
        return bool(self.of(character) & HAN)

    def follows_word(self, text, index):
        if index == 0:
            return False
        before = text[index - 1]
        return before in "_@" or bool(self.of(before) & LETTER_OR_NUMBER)


# --- Embedding: signed feature hashing of word and character n-grams (MurmurHash3, 32 bits) ---------------------------

MASK = 0xFFFFFFFF
WORD_SEED, CHARACTER_SEED = 0x776F7264, 0x63686172


def scramble(word):
    mixed = (word * 0xCC9E2D51) & MASK
    mixed = ((mixed << 15) | (mixed >> 17)) & MASK
    return (mixed * 0x1B873593) & MASK


def mix(state, scrambled):
    mixed = state ^ scrambled
    mixed = ((mixed << 13) | (mixed >> 19)) & MASK
    return (mixed * 5 + 0xE6546B64) & MASK


def finish(state, length_bytes):
    mixed = state ^ length_bytes
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & MASK
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & MASK
    return mixed ^ (mixed >> 16)


class TextScanner:
    def __init__(self, characters):
        self.characters = characters

    def scan(self, text, masks):
        """Hashes of words, and runs of code points between separators, each with a space at both ends."""
        clean = self.characters.normalize(text)
        if masks:
            clean = self.characters.mask(clean)
        words, runs, run = [], [], None
        state = length = 0
        for character in self.characters.lower(clean) + " ":
            kind = self.characters.of(character) & 7
            if kind == IGNORED:
                continue
            if kind != LETTER and length > 0:
                words.append(finish(state, 4 * length))
                state = length = 0
            if kind in (SEPARATOR, SYMBOL) and run is not None:
                runs.append(run + [0x20])
                run = None
            if kind == SEPARATOR:
                continue
            scrambled = scramble(ord(character))
            if kind == LETTER:
                state, length = mix(state, scrambled), length + 1
            else:
                words.append(finish(mix(0, scrambled), 4))
            if kind != SYMBOL:
                run = (run or [0x20]) + [ord(character)]
        return words, runs


def ngram_counts(sequences, seed, ngrams):
    """How often each n-gram occurs, by its hash, in the order in which they first come."""
    counts = {}
    for items in sequences:
        scrambled = [scramble(item) for item in items]
        for start in range(len(items)):
            state = seed
            for end in range(start, min(start + ngrams["max"], len(items))):
                state = mix(state, scrambled[end])
                length = end - start + 1
                if length >= ngrams["min"]:
                    key = finish(state, 4 * length)
                    counts[key] = counts.get(key, 0) + 1
    return counts


class HashingEncoder:
    """The vector of a text depends on nothing but the text and the options, to the last bit."""

    def __init__(self, options, characters):
        self.options = options
        self.scanner = TextScanner(characters)
        self.dimensions = options["dimensions"]

    def encode(self, text):
        words, runs = self.scanner.scan(text, self.options["maskHandlesAndUrls"])
        row = np.zeros(self.dimensions, np.float32)
        for sequences, seed, name in (([words], WORD_SEED, "wordNgrams"), (runs, CHARACTER_SEED, "characterNgrams")):
            ngrams = self.options[name]
            if ngrams["weight"] > 0:
                self.add(row, ngram_counts(sequences, seed, ngrams), ngrams["weight"])
        squares = sum(float(value) * float(value) for value in row)
        if squares > 0:
            row = (row.astype(np.float64) * (1 / math.sqrt(squares))).astype(np.float32)
        return row

    @staticmethod
    def add(row, counts, weight):
        for key, count in counts.items():
            value = weight * (1 + math.log(count))
            place = (key >> 1) % len(row)
            row[place] = np.float32(float(row[place]) + (-value if key & 1 else value))


# --- The local classifier: of the student, whose confidence may join the state, and of the detector -------------------


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


class Block:
    """TF-IDF of n-grams as one vector of length 1: its product with the weights is carried on from post to post."""

    def __init__(self, saved, labels):
        self.columns = {int(key): column for column, key in enumerate(np.frombuffer(base64.b64decode(saved["keys"]), "<u4"))}
        self.idf = floats(saved["idf"]).astype(np.float64).tolist()
        self.weights = floats(saved["weights"]).astype(np.float64).reshape(-1, labels - 1)

    def open(self):
        counts, product, squares = {}, np.zeros(self.weights.shape[1]), 0.0

        def add(ngrams):
            nonlocal product, squares
            for key, count in ngrams.items():
                column = self.columns.get(key)
                if column is not None:
                    before = counts.get(column, 0)
                    counts[column] = before + count
                    old, new = (sublinear(value) * self.idf[column] for value in (before, before + count))
                    squares += new * new - old * old
                    product = product + (new - old) * self.weights[column]
            return product / math.sqrt(squares) if squares > 0 else product

        return add


class Timing:
    """How fast the replies come: four standardised columns, 0 where unknown and for a claim alone."""

    TIMED_REPLIES = (1, 4)
    MOST_DEVIATIONS = 3

    def __init__(self, saved, labels):
        self.means, self.deviations = saved["means"], saved["deviations"]
        self.weights = floats(saved["weights"]).astype(np.float64).reshape(-1, labels - 1)

    def open(self):
        replies, start, delays = -1, None, [None for _ in self.TIMED_REPLIES]

        def add(time):
            nonlocal replies, start
            now = None if time is None else milliseconds(time)
            replies += 1
            start = now if start is None else start
            if replies == 0:
                return np.zeros(self.weights.shape[1])
            minutes = None if now is None else max(0.0, (now - start) / 60_000)
            if replies in self.TIMED_REPLIES and minutes is not None:
                delays[self.TIMED_REPLIES.index(replies)] = math.log1p(minutes)
            rate = None if minutes is None else math.log(replies / (minutes + 1))
            return np.array(list(map(self.standardised, [math.log1p(replies), rate, *delays], self.means, self.deviations))) @ self.weights

        return add

    def standardised(self, value, mean, deviation):
        if value is None or deviation == 0:
            return 0.0
        return max(-self.MOST_DEVIATIONS, min(self.MOST_DEVIATIONS, (value - mean) / deviation))


def sublinear(count):
    return 1 + math.log(count) if count > 0 else 0.0


class PrefixReader:
    """A claim and its replies, each in n-grams of words and of characters, under a logistic regression."""

    SEED = 0x6E677261

    def __init__(self, model, characters):
        self.labels, self.ngrams, self.lone_claim = model["labels"], model["ngrams"], model["loneClaimWeight"]
        self.scanner = TextScanner(characters)
        self.intercepts, self.offsets = np.array(model["intercepts"]), np.array(model["offsets"])
        self.temperature, self.calibration = model["temperature"], model["calibration"]
        count = len(self.labels)
        self.timing = Timing(model["timing"], count) if "timing" in model else None
        self.claim, self.replies = (
            [Block(model[part][unit], count) for unit in ("words", "characters")] for part in ("claim", "replies")
        )

    def open(self):
        """Begins a thread. The function takes the text and the time of its next post; each post costs the same."""
        parts = [[block.open() for block in self.claim], [block.open() for block in self.replies]]
        timing = self.timing.open() if self.timing else lambda time: 0.0
        claim, posts = None, 0

        def read(post):
            nonlocal claim, posts
            posts += 1
            text, time = post
            words, runs = self.scanner.scan(text, True)
            ngrams = [
                ngram_counts([words], self.SEED, self.ngrams["words"]),
                ngram_counts(runs, self.SEED, self.ngrams["characters"]),
            ]
            added = sum(add(own) for add, own in zip(parts[0 if claim is None else 1], ngrams))
            if claim is None:
                claim, logits = added, added * self.lone_claim
            else:
                logits = claim + added
            logits = logits + timing(time)
            powers = (self.intercepts + np.concatenate([[0.0], logits])) / self.temperature + self.offsets
            powers = powers * self.factor(posts)
            powers = np.exp(powers - powers.max())
            return powers / powers.sum()

        return read

    def factor(self, posts):
        """Calibrates the logits of so many posts."""
        scale, growth, most_posts = (self.calibration[name] for name in ("scale", "growth", "mostPosts"))
        return scale * min(posts, most_posts) ** growth

    def read(self, posts):
        """The probability of each label at each prefix, [posts, labels]."""
        return np.array(list(map(self.open(), posts)))


# --- State fields: what a policy can read of a thread. Each takes the posts in their order -----------------------------


@dataclass
class Seen:
    """A post, and what is known once it is read."""

    embedding: np.ndarray | None
    student: np.ndarray | None
    """Probabilities of the labels by the student."""
    judgement: dict | None
    """What the detector says of the posts so far; None where it was not queried."""


def odds_and_margin(logs):
    """Log-odds against the first label, and the margin between the likeliest label and the next."""
    first, second = sorted(logs, reverse=True)[:2]
    return [*(logs[1:] - logs[0]), first - second]


class PostsField:
    """The posts so far as one vector, and the text of the action before."""

    def __init__(self, policy):
        self.sum, self.posts, self.pooling = 0.0, 0, policy.manifest["state"]["pooling"]
        self.continued = policy.continued

    def add(self, seen):
        self.posts += 1
        self.sum = self.sum + seen.embedding.astype(np.float64)
        divisor = {"sum": 1, "mean": self.posts, "sqrt": math.sqrt(self.posts)}[self.pooling]
        return self.sum / divisor + (0 if self.posts == 1 else self.continued)


class CountField:
    def __init__(self, policy):
        self.posts = 0

    def add(self, seen):
        self.posts += 1
        return [math.log(self.posts)]


class ShareField(CountField):
    def add(self, seen):
        self.posts += 1
        return [self.posts / (1 + self.posts)]


class StudentField:
    """Log-odds, margin, ln of the posts read, ln of how many posts in a row the label is unchanged."""

    def __init__(self, policy):
        self.posts, self.last, self.unchanged = 0, -1, 0

    def add(self, seen):
        label = int(seen.student.argmax())
        self.unchanged = self.unchanged + 1 if label == self.last else 1
        self.last = label
        self.posts += 1
        return [*odds_and_margin(np.log(np.maximum(1e-4, seen.student))), math.log(self.posts), math.log(self.unchanged)]


class StudentConfidenceField:
    def __init__(self, policy):
        pass

    def add(self, seen):
        return [seen.student.max()]


class JudgementField:
    """The last judgement: log-odds, margin, how long ago it was, how many in a row gave the same label, the posts read."""

    def __init__(self, policy):
        self.labels = policy.labels
        self.logs, self.last, self.streak, self.queried_at, self.posts = np.zeros(len(self.labels)), None, 0, 0, 0

    def add(self, seen):
        self.posts += 1
        if seen.judgement is not None:
            label, probabilities = seen.judgement["label"], seen.judgement["probabilities"]
            self.streak = 0 if label is None else self.streak + 1 if label == self.last else 1
            if label is None:
                self.logs = np.zeros(len(self.labels))
            else:
                known = probabilities or {name: float(name == label) for name in self.labels}
                self.logs = np.log(np.maximum(1e-4, [np.float32(known[name]) for name in self.labels]))
            self.last, self.queried_at = label, self.posts
        since = math.log(1 + self.posts - self.queried_at)
        return [*odds_and_margin(self.logs), since, math.log(1 + self.streak), math.log(self.posts)]


class ConfidenceField:
    """Probability of the label of the last judgement."""

    def __init__(self, policy):
        self.confidence = 0.0

    def add(self, seen):
        if seen.judgement is not None:
            probabilities = seen.judgement["probabilities"] or {}
            self.confidence = np.float32(probabilities.get(seen.judgement["label"], 0.0))
        return [self.confidence]


FIELDS = {
    "posts": PostsField,
    "posts seen": CountField,
    "student": StudentField,
    "judgement": JudgementField,
    "share of posts": ShareField,
    "detector confidence": ConfidenceField,
    "student confidence": StudentConfidenceField,
}


# --- Stops: the threshold, the deadline, the end of the thread ---------------------------------------------------------


class Stops:
    """When a policy stops in one thread. A stop is (posts used, why, hours from the claim)."""

    def __init__(self, threshold, limits):
        self.threshold, self.max_posts = threshold, limits["maxPosts"]
        self.deadline = limits["deadline"]
        self.hours = []

    def before_post(self, hours):
        """A post after the deadline is not read; one without a time counts as later."""
        return self.at_time(hours)

    def after_post(self, score, hours):
        self.hours.append(hours)
        if score > self.threshold:
            return self.at(len(self.hours), "threshold")
        if len(self.hours) == self.deadline["posts"]:
            return self.at(len(self.hours), "deadline")
        return self.at_end() if len(self.hours) == self.max_posts else None

    def at_time(self, hours):
        latest = self.deadline["hours"]
        if not self.hours or latest is None or (hours is not None and hours <= latest):
            return None
        return len(self.hours), "deadline", None if hours is None else latest

    def at_end(self):
        return self.at(len(self.hours), "end")

    def at(self, posts_used, why):
        return posts_used, why, self.hours[posts_used - 1]


def stop_in(stops, scores, hours):
    """Where a thread is decided whose scores are known."""
    for score, hour in zip(scores, hours):
        stop = stops.before_post(hour) or stops.after_post(score, hour)
        if stop:
            return stop
    return stops.at_end()


# --- Audits: a random share of threads is read on to its end, so that `earshot monitor` can check the guarantee ---------


def is_audited(thread_id, share, seed=1):
    """Whether a thread is drawn, by its id alone: the same here, in Node and on a server, whenever it is asked."""
    state = seed & MASK
    for character in thread_id:
        state = mix(state, scramble(ord(character)))
    return finish(state, 4 * len(thread_id)) / 2**32 < share


# --- The policy -------------------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """Where a policy stands in a thread."""

    why: str | None
    """threshold, deadline or end; None while the policy reads on."""
    stopped: bool
    """False while the policy reads on, and where the thread ended first: then further posts may change the decision."""
    posts_used: int
    hours: float | None
    """From the claim to the stop, or to the last post read; None where a time is unknown."""
    scores: list
    """At every post used, given that the policy read on before; 0 where it does not act."""
    queries: int
    """How often the detector was queried."""


@dataclass
class Decision(Reading):
    prediction: dict | None = None
    """Label and probabilities by the detector; None where there is no detector."""
    out_of_distribution: dict | None = None
    """How unlike the threads of the guarantee this one is, or without a guarantee those that were trained on, {"score", "isFlagged"}."""
    trained_on: bool | None = None
    """Whether the policy learnt from this thread; None for a thread without an id."""


class Thread:
    """A thread that is read as it grows."""

    def __init__(self, policy, judge, threshold):
        self.policy, self.judge = policy, judge
        self.fields = [FIELDS[field["name"]](policy) for field in policy.manifest["state"]["fields"]]
        self.stops = Stops(threshold, policy.manifest["limits"])
        self.read_student = policy.student.open() if policy.student else None
        self.posts, self.states, self.scores, self.outputs, self.hours, self.stop = [], [], [], {}, None, None
        self.unsettled = None

    def read(self, post):
        """Reads the next post, unless the thread is decided."""
        post = post_of(post)
        if self.stop:
            return self.reading()
        if self.unsettled is not None:
            # The detector failed when it was asked whether the policy may stop. The same post settles it when it is read again.
            if post == self.posts[-1]:
                self.settle(self.unsettled > self.stops.threshold and not self.raises_alert())
                return self.reading()
            self.settle(True)
        hours = hours_between((self.posts or [post])[0][1], post[1])
        self.stop = self.stop or self.stops.before_post(hours)
        if self.stop:
            return self.reading()
        self.hours = hours
        self.posts.append(post)
        length, queries = len(self.posts), self.policy.manifest["queries"]
        is_queried = length in self.policy.queried
        try:
            judgement = self.query(length) if is_queried else None
        except Exception:
            self.posts.pop()
            raise
        seen = Seen(
            self.policy.encoder.encode(post[0]) if self.policy.embeds else None,
            self.read_student(post) if self.read_student else None,
            judgement,
        )
        state = np.concatenate([np.asarray(field.add(seen), np.float32) for field in self.fields])
        self.states.append(state)
        acts = queries["actsAt"] == "every-post" or is_queried
        self.unsettled = float(self.policy.scores(state[None])[0]) if acts else 0.0
        self.settle(self.unsettled > self.stops.threshold and not self.raises_alert())
        return self.reading()

    def settle(self, is_held):
        score, self.unsettled = self.unsettled, None
        self.scores.append(score)
        self.stop = self.stops.after_post(0.0 if is_held else score, self.hours)

    def raises_alert(self):
        """Whether the policy may stop with what the detector says now."""
        alerts = self.policy.alerts
        return alerts is None or self.query(min(len(self.posts), self.policy.manifest["queries"]["maxPosts"]))["label"] in alerts

    def wait(self, hours):
        """Tells the policy how late it is, in hours since the claim, where no post has come."""
        self.stop = self.stop or self.stops.at_time(hours)
        return self.reading()

    def end(self):
        """No post will come."""
        if not self.posts:
            raise ValueError("a thread needs at least one post, the claim")
        self.stop = self.stop or self.stops.at_end()
        return self.reading()

    def reading(self):
        used, why, hours = self.stop or (len(self.scores), None, self.hours)
        return Reading(why, why not in (None, "end"), used, hours, self.scores[:used], len(self.outputs))

    def predict(self):
        """What the detector says of the posts used; None where there is none, or it gives no label."""
        if self.judge is None:
            return None
        output = self.query(min(self.reading().posts_used, self.policy.manifest["queries"]["maxPosts"]))
        return None if output["label"] is None else {"label": output["label"], "probabilities": output["probabilities"] or {}}

    def query(self, length):
        if length not in self.outputs:
            if self.judge is None:
                raise BundleError("the policy queries its detector, and the bundle holds none; give Policy(folder, judge=...)")
            self.outputs[length] = self.judge(self.posts[:length])
        return self.outputs[length]


class Policy:
    """Reads a bundle. Every file is held against its SHA-256, and the golden threads are decided again."""

    def __init__(self, folder, judge=None):
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        for name, digest in self.manifest["files"].items():
            check_digest(name, self.bytes(name), digest)
        state = self.manifest["state"]
        for field in state["fields"]:
            if field["name"] not in FIELDS:
                raise BundleError(f"the state has a field {field['name']}, which this program does not know")
        characters = Characters(self.json("characters.json"))
        self.session = onnxruntime.InferenceSession(self.bytes("policy.onnx"), providers=["CPUExecutionProvider"])
        self.max_posts = self.manifest["limits"]["maxPosts"]
        self.queried = set(self.manifest["queries"]["lengths"])
        self.reads_texts = self.manifest["readsTexts"]
        self.labels, self.alerts = self.manifest["task"]["labels"], self.manifest["task"].get("alerts")
        self.embeds = any(field["name"] == "posts" for field in state["fields"])
        self.encoder = None
        if self.embeds and self.reads_texts:
            self.encoder = HashingEncoder(self.manifest["encoder"], characters)
            self.continued = self.encoder.encode(state["previousActions"]["continue"])
        student, detector = self.manifest["student"], self.manifest["detector"]
        self.student = PrefixReader(self.json(student), characters) if student and self.reads_texts else None
        self.detector = PrefixReader(self.json(detector), characters) if detector else None
        self.judge = judge
        self.trained = set(self.json("trained.json"))
        check_refusals(self.bytes("refusals.jsonl").decode())
        self.check_golden()
        self.guarantee = self.manifest.get("guarantee")
        self.threshold = self.guarantee["threshold"] if self.guarantee else self.manifest["threshold"]
        files = [f"{name} {digest}" for name, digest in self.manifest["files"].items()]
        self.digest = hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()
        self.region = self.guarantee["claims"] if self.guarantee else self.manifest.get("trainedClaims")
        self.calibrated = set((self.guarantee or {}).get("calibratedOn", []))
        if self.region:
            self.claim_encoder = HashingEncoder(self.region["encoder"], characters)

    def is_trained_on(self, thread):
        """Whether the policy learnt from a thread, or its settings may have: by its id and claim."""
        return identity_of(thread["id"], thread["posts"][0]["text"]) in self.trained

    def is_calibrated_on(self, thread_id, claim):
        """Whether the guarantee was found on a thread, so that auditing it would show nothing."""
        return identity_of(thread_id, claim)[:16] in self.calibrated

    def open(self):
        """Begins a thread whose posts come one after another."""
        if not self.reads_texts:
            raise BundleError(
                f"this bundle cannot read texts in Python: its states need {self.manifest['encoder']} or a student with "
                "such an encoder, which is not part of it. Make the states yourself and call scores"
            )
        return Thread(self, self.given_judge() or (self.judge_of_thread() if self.detector else None), self.threshold)

    def decide(self, posts, thread_id=None):
        """Reads a thread to the stop or to its end, given its posts: the claim, then the replies in time order. A post is its
        text, or {"text": ..., "time": ...}; other keys are not read. With the id of the thread, the decision says whether the policy
        learnt from it."""
        posts = posts_of(posts)
        thread = self.open()
        for post in posts:
            if thread.read(post).why:
                break
        thread.end()
        prediction = thread.predict()
        claim = posts[0][0]
        trained_on = None if thread_id is None else self.is_trained_on({"id": thread_id, "posts": [{"text": claim}]})
        return Decision(
            **vars(thread.reading()), prediction=prediction, out_of_distribution=self.out_of_distribution(claim), trained_on=trained_on
        )

    def audit(self, thread_id, posts, share, opened=None):
        """Decides a thread that has ended and reads it on to its end: a line for `earshot monitor`. Times are datetime.now(timezone.utc)."""
        posts = posts_of(posts)
        decision, whole = self.decide(posts), posts[: self.max_posts]
        judged = min(len(whole), self.manifest["queries"]["maxPosts"])
        judge = self.open().judge
        if judge is None:
            raise BundleError("an audit compares predictions, and the bundle holds no detector; give Policy(folder, judge=...)")
        at_stop = decision.prediction and decision.prediction["label"]
        at_end, queries, path, used = at_stop, 0, None, decision.posts_used
        if self.given_judge():
            if used < judged:
                at_end, queries = judge(whole[:judged])["label"], 1
        else:
            labels = [judge(whole[:length])["label"] for length in range(1, judged + 1)]
            at_end, queries = labels[-1], max(0, judged - used)
            thread = self.read_whole(whole, self.judge_of_thread())
            path = [
                {"score": score, "hours": hours, "label": labels[min(index, judged - 1)]}
                for index, (score, hours) in enumerate(zip(thread.scores, thread.stops.hours))
            ]
        now = datetime.now(timezone.utc)
        outcome = {
            "closed": iso(now), "posts": len(whole), "postsUsed": used,
            "atStop": at_stop, "atEnd": at_end, "queries": queries, "path": path,
        }  # fmt: skip
        calibration = {"isCalibration": True} if self.is_calibrated_on(thread_id, posts[0][0]) else {}
        return {
            "threadId": thread_id, "policy": self.digest, "threshold": self.threshold, "opened": iso(opened or now),
            "probability": share, "isOutOfDistribution": decision.out_of_distribution and decision.out_of_distribution["isFlagged"], **calibration, "outcome": outcome,
        }  # fmt: skip

    def states(self, posts):
        """The state after each post, [posts, columns]."""
        return np.array(self.read_whole(posts_of(posts), self.open().judge).states)

    def read_whole(self, posts, judge):
        """A thread that is read to its end, whatever the policy says of it."""
        thread = Thread(self, judge, threshold=1)
        thread.stops = Stops(1, {"maxPosts": math.inf, "deadline": {"posts": None, "hours": None}})
        for post in posts:
            thread.read(post)
        return thread

    def scores(self, states):
        """Scores of states, [rows, columns], as manifest.json defines them."""
        (scores,) = self.session.run(["stop_probability"], {"state": np.ascontiguousarray(states, np.float32)})
        return scores

    def given_judge(self):
        """The detector that came with the call, which takes texts."""
        return self.judge and (lambda posts: self.judge([text for text, _ in posts]))

    def judge_of_thread(self):
        """Judges prefixes of one thread that grow: no post is read twice."""
        read, rows = self.detector.open(), []

        def judge(posts):
            rows.extend(map(read, posts[len(rows) :]))
            last = rows[len(posts) - 1]
            probabilities = {label: float(value) for label, value in zip(self.labels, last)}
            return {"label": self.labels[int(last.argmax())], "probabilities": probabilities}

        return judge

    def out_of_distribution(self, claim):
        """1 - the cosine of the claim with those of the guarantee, or without one those trained on; and whether hardly any of them has as much."""
        if not self.region:
            return None
        vector = self.claim_encoder.encode(claim).astype(np.float64)
        center = floats(self.region["center"]).astype(np.float64)
        norm = math.sqrt(float(vector @ vector))
        score = 1 - (float(center @ vector) / norm if norm > 0 else 0.0)
        return {"score": score, "isFlagged": score > self.region["threshold"]}

    def check_golden(self):
        state, queries = self.manifest["state"], self.manifest["queries"]
        # Not splitlines, which also cuts at separators that a text may hold.
        for line in filter(None, self.bytes("golden.jsonl").decode().split("\n")):
            golden = json.loads(line)
            scores = self.scores(floats(golden["states"]).reshape(-1, state["columns"]))
            if queries["actsAt"] == "queried-posts":
                acts = np.isin(np.arange(1, len(scores) + 1), queries["lengths"])
                scores = np.where(acts, scores, np.float32(0))
            self.check_scores(golden, scores)
            if not self.reads_texts:
                continue
            judge = self.judge_of_thread() if self.detector else recorded_outputs(golden, self.labels)
            thread = self.read_whole(zip(golden["texts"], golden["times"]), judge)
            self.check_scores(golden, thread.scores)
            counting = thread.scores
            if self.alerts is not None:
                judged = [min(length, queries["maxPosts"]) for length in range(1, len(counting) + 1)]
                counting = [own if thread.query(length)["label"] in self.alerts else 0.0 for own, length in zip(counting, judged)]
            used, why, _ = stop_in(Stops(self.manifest["threshold"], self.manifest["limits"]), counting, thread.stops.hours)
            if (used, why) != (golden["postsUsed"], golden["why"]):
                raise BundleError(
                    f"the golden thread {golden['threadId']} is decided differently here: at post {used} ({why}), and at "
                    f"{golden['postsUsed']} ({golden['why']}) in golden.jsonl"
                )

    @staticmethod
    def check_scores(golden, scores):
        difference = np.abs(np.asarray(scores) - np.array(golden["scores"])[: len(scores)]).max()
        if not difference <= TOLERANCE:
            raise BundleError(
                f"the golden thread {golden['threadId']} is decided differently here: the largest difference in a score is {difference}"
            )

    def bytes(self, name):
        return (self.folder / name).read_bytes()

    def json(self, name):
        return json.loads(self.bytes(name))


def posts_of(given):
    if isinstance(given, (str, dict)):
        raise ValueError("posts must be a list, the claim first")
    if hasattr(given, "columns"):
        raise ValueError('a table is no list of posts; give table["text"], or table[["text", "time"]].to_dict("records")')
    posts = list(map(post_of, given))
    if not posts:
        raise ValueError("a thread needs at least one post, the claim")
    return posts


def post_of(given):
    """Text and time of a post, given as its text, as {"text": ..., "time": ...} or as this pair."""
    if isinstance(given, dict):
        given = given.get("text"), given.get("time")
    text, time = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(text, str):
        raise ValueError(f"a post must be a text or have one; found {text!r}")
    if time is not None and milliseconds(time) is None:
        otherwise = "is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out"
        raise ValueError(f"{shown(time)} {time_problem(time, otherwise)}")
    return text, time


def recorded_outputs(golden, labels):
    """The detector of a golden thread: it says what it said when the bundle was made."""
    known = {own["posts"]: own for own in golden["judgements"]}

    def judge(posts):
        own = known.get(len(posts), {"label": None, "probabilities": None})
        row = own["probabilities"]
        return {"label": own["label"], "probabilities": None if row is None else dict(zip(labels, row))}

    return judge


def identity_of(thread_id, claim):
    """The hash by which a bundle names a thread."""
    named = json.dumps({"claim": claim, "id": thread_id}, ensure_ascii=False, separators=(",", ":"))
    # Half a character is written as an escape, as JavaScript does.
    return hashlib.sha256(named.encode(errors="backslashreplace")).hexdigest()


MANIFEST_START = b'{\n  "sha256": "'


def read_manifest(folder):
    try:
        text = (folder / "manifest.json").read_bytes()
    except OSError as problem:
        how = "give the folder that `earshot export` made; threads come on standard input"
        raise BundleError(f"{folder} holds no bundle ({problem.strerror}): {how}") from problem
    start = len(MANIFEST_START)
    if not text.startswith(MANIFEST_START):
        raise BundleError("manifest.json is not the manifest of a bundle")
    check_digest("manifest.json", text[:start] + b"0" * 64 + text[start + 64 :], text[start : start + 64].decode())
    manifest = json.loads(text)
    if (manifest["format"], manifest["formatVersion"]) != ("earshot-bundle", 5):
        raise BundleError(f"manifest.json has format version {manifest['formatVersion']}, and this program reads 5; export the run again")
    return manifest


def check_digest(name, content, expected):
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise BundleError(f"{name} was changed after the export: its SHA-256 is {found}, not {expected}")


# --- Threads: what `earshot decide` takes, and nothing else -----------------------------------------------------------


def threads_of(lines):
    """The threads of JSON Lines."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            # NaN and Infinity are no JSON; Python writes them for missing numbers.
            thread = json.loads(line, parse_constant=lambda name: None)
            problem = problem_of(thread)
            if problem is not None:
                raise ThreadError(f"line {number}: {problem}")
            yield thread
    except UnicodeDecodeError as problem:
        raise ThreadError(f"the text after line {number} is not UTF-8; convert it to UTF-8") from problem
    except json.JSONDecodeError as problem:
        raise ThreadError(f"line {number} is not JSON ({problem}); write one thread a line") from problem
    except RecursionError as problem:
        raise ThreadError(f"line {number} is nested too deeply") from problem


def is_text(value):
    return isinstance(value, str)


def is_name(value):
    return isinstance(value, str) and value != ""


def is_label(value):
    return value is None or isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and math.isfinite(value))


VERACITIES = ("true", "false", "unverified", "non-rumor")
STANCES = ("support", "deny", "query", "comment")
# By field: whether it must be there, what it may be, whether it may be null, and what to say otherwise, or how to find it out.
THREAD_FIELDS = {
    "id": (True, is_name, False, "must be a text"),
    "event": (False, is_text, True, "must be a text or null"),
    "veracity": (False, lambda value: is_text(value) and value in VERACITIES, True, f"must be one of {VERACITIES} or null"),
    "rumor": (False, lambda value: isinstance(value, bool), True, "must be true, false or null"),
    "split": (False, is_text, False, "must be a text"),
    "labels": (
        False,
        lambda value: isinstance(value, dict) and all(map(is_label, value.values())),
        False,
        "must be an object of texts, numbers, true, false and null",
    ),
    "posts": (True, lambda value: isinstance(value, list) and len(value) > 0, False, "must be a list with the claim in it"),
}
POST_FIELDS = {
    "id": (True, is_name, False, "must be a text"),
    "time": (
        False,
        lambda value: milliseconds(value) is not None,
        True,
        lambda value: time_problem(value, "must be ISO 8601, such as 2014-08-09T22:33:06Z, or null"),
    ),
    "author": (False, is_text, True, "must be a text or null"),
    "parent": (False, is_text, True, "must be a text or null"),
    "text": (True, is_text, False, "must be a text"),
    "stance": (False, lambda value: is_text(value) and value in STANCES, True, f"must be one of {STANCES} or null"),
}
TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
TIME_WITHOUT_ZONE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?", re.ASCII)


def problem_of(thread):
    """Why a value is no thread; None where it is one."""
    problem = problem_of_fields(thread, THREAD_FIELDS)
    if problem is not None:
        return problem
    seen, previous = set(), None
    for index, post in enumerate(thread["posts"]):
        problem = problem_of_fields(post, POST_FIELDS)
        if problem is not None:
            return f"posts.{index}: {problem}"
        if post["id"] in seen:
            return f"posts.{index}: repeats the id {shown(post['id'])}; ids are unique within a thread"
        seen.add(post["id"])
        time = post.get("time")
        if index == 0 or time is None:
            continue
        if previous is not None and milliseconds(time) < milliseconds(previous):
            return f"posts.{index}: {time} is earlier than {previous} before it; replies must be in time order"
        previous = time
    return None


def problem_of_fields(value, fields):
    if not isinstance(value, dict):
        return f"must be an object; found {shown(value)}"
    for name in value:
        if name not in fields:
            return f"{shown(name)} is not known; the keys are {', '.join(fields)}"
    for name, (is_needed, holds, may_be_null, expected) in fields.items():
        if name not in value:
            if is_needed:
                return f"{name} is missing: it {expected}"
        elif not (value[name] is None and may_be_null) and not holds(value[name]):
            problem = expected(value[name]) if callable(expected) else expected
            return f"{name} {problem}; found {shown(value[name])}"
    return None


def shown(value):
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def milliseconds(time):
    """Since 1970, of a time in ISO 8601; None for what is none."""
    parts = TIME.fullmatch(time) if isinstance(time, str) else None
    if parts is None:
        return None
    year, month, day, hour, minute, second = (int(parts[group]) for group in range(1, 7))
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 28 + is_leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    days = 365 * (year - 1970) + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 - 477
    days += sum(lengths[: month - 1]) + day - 1
    zone = 0 if parts[8] is None else (60 * int(parts[9]) + int(parts[10])) * (1 if parts[8] == "+" else -1)
    return ((days * 24 + hour) * 60 + minute - zone) * 60_000 + second * 1000 + int(((parts[7] or "") + "000")[:3])


def time_problem(value, otherwise):
    """Why a value is no time, for one that is none."""
    if isinstance(value, str) and TIME_WITHOUT_ZONE.fullmatch(value):
        return "names no time zone: write Z behind it for UTC, or an offset such as +02:00"
    if isinstance(value, str) and TIME.fullmatch(value):
        return "is on a day that its month does not have"
    return otherwise


def iso(time):
    """As JavaScript writes it."""
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def hours_between(claim, post):
    """Never negative; None where a time is unknown."""
    if claim is None or post is None:
        return None
    return max(0, milliseconds(post) - milliseconds(claim)) / 3_600_000


def check_refusals(text):
    """What `earshot decide` takes and what it refuses must be the same here."""
    for line in text.rstrip("\n").split("\n"):
        golden = json.loads(line)
        try:
            list(threads_of([golden["line"]]))
            is_refused = False
        except ThreadError:
            is_refused = True
        if is_refused != golden["isRefused"]:
            raise BundleError(f"a line of refusals.jsonl is {'refused' if is_refused else 'taken'} here: {golden['line']}")


# 5% of like threads look unlike; from twice as many on it is said.
MANY_FLAGGED = 0.1

# What a terminal obeys instead of showing it, as JSON escapes it: control characters, and those that turn the order of others.
UNSEEN = (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
VISIBLE = {code: f"\\u{code:04x}" for code in UNSEEN}


def main():
    # JSON is UTF-8, whatever a terminal speaks. A half of a character goes out as JSON escapes it.
    sys.stdin.reconfigure(encoding="utf-8-sig")
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    policy = Policy(GIVEN.folder)
    count = trained = calibrated = decided = flagged = 0
    for thread in threads_of(sys.stdin):
        count += 1
        calibrated += policy.is_calibrated_on(thread["id"], thread["posts"][0]["text"])
        is_trained = policy.is_trained_on(thread)
        trained += is_trained
        if is_trained and not GIVEN.include_trained:
            continue
        posts = thread["posts"][: policy.max_posts]
        decision = policy.decide(posts)
        last = posts[decision.posts_used - 1]
        record = {
            "threadId": thread["id"],
            "post": last["id"],
            "time": last.get("time"),
            "hours": decision.hours,
            "stopped": decision.stopped,
            "why": decision.why,
            "postsUsed": decision.posts_used,
            "posts": len(posts),
            "postsLeftOut": len(thread["posts"]) - len(posts),
            "earliness": decision.posts_used / len(posts),
            "scores": decision.scores,
            "prediction": decision.prediction,
            "predictionMissing": "no detector is at hand" if decision.prediction is None else None,
            "queries": decision.queries,
            "outOfDistribution": decision.out_of_distribution,
            "trainedOn": is_trained,
        }
        if policy.alerts is not None:
            record["alert"] = decision.prediction is not None and decision.prediction["label"] in policy.alerts
        print(json.dumps(record, ensure_ascii=False, allow_nan=False).translate(VISIBLE), flush=True)
        decided += 1
        flagged += bool(decision.out_of_distribution and decision.out_of_distribution["isFlagged"])
    if trained > 0:
        what = "not left out" if GIVEN.include_trained else "left out (--include-trained keeps them)"
        note(f"the policy was trained on {trained} of the {count} threads; they are {what}")
    if calibrated > 0:
        note(
            f"the guarantee was found on {calibrated} of the {count} threads; it holds on these by construction, so audits leave them out"
        )
    if policy.guarantee and flagged > 0:
        note(
            f"{flagged} of the {decided} decided threads are out of distribution for the guarantee of the policy (outOfDistribution.isFlagged); "
            "5% of threads like the calibration threads are. The guarantee does not cover them"
        )
    elif flagged > MANY_FLAGGED * decided:
        note(
            f"{flagged} of the {decided} decided threads are out of distribution for the policy (outOfDistribution.isFlagged); "
            "5% of threads like its training threads are. Its predictions may be worse on them"
        )


def note(line):
    print(f"earshot_policy.py: {line}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except (BundleError, ThreadError) as problem:
        sys.exit(f"earshot_policy.py: {problem}")
    except BrokenPipeError:
        # Whoever read the decisions has gone, as `head` does. Python would say so again when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
