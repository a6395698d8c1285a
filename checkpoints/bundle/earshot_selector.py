#!/usr/bin/env python3
"""A selector, exported by Earshot: which machine-labelled claims and posts to retain for training.

Needs numpy and onnxruntime, nothing else. Embeddings come from the caller, by the encoder that manifest.json names:

    selector = Selector("folder of the bundle")
    context = Context(dimensions)                       # the posts of one claim, or the claims of a whole collection
    state = context.state(claim, explanation)           # embeddings of the claim and of the machine's reason for its label
    if selector.retain_probability("posts", state[None])[0] >= 0.5:
        context.retain(post)                            # embedding of the post

Loading checks every file and repeats the golden decisions. From a shell, states as JSON Lines on standard input,
{"level": "posts", "state": [...]}:

    python earshot_selector.py < states.jsonl
"""

import base64
import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime

TOLERANCE = 1e-5


class BundleError(Exception):
    """A file of the bundle was changed, or decides differently here than it did when it was exported."""


class Context:
    """What was retained so far, at one level: the mean of its embeddings is part of every state."""

    def __init__(self, dimensions):
        self.sum = np.zeros(dimensions, np.float64)
        self.count = 0

    def retain(self, embedding):
        self.sum += np.asarray(embedding, np.float64)
        self.count += 1

    def state(self, claim, explanation, distribution=()):
        """[claim; mean of the items retained so far; explanation; class distribution where the manifest has one]."""
        mean = self.sum / self.count if self.count > 0 else self.sum
        return np.concatenate([claim, mean, explanation, distribution]).astype(np.float32)


class Selector:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.manifest = self._manifest()
        self.sessions = {
            level: onnxruntime.InferenceSession(self._read(of["onnx"]), providers=["CPUExecutionProvider"])
            for level, of in self.manifest["levels"].items()
        }
        self._check_golden()

    def retain_probability(self, level, states):
        """Probabilities [rows] of retaining, for raw states [rows, columns]; an item is retained from one half on."""
        if level not in self.sessions:
            raise BundleError(f"this selector has no policy for {level}; it has one for {', '.join(self.sessions)}")
        states = np.ascontiguousarray(states, np.float32)
        columns = self.manifest["levels"][level]["columns"]
        if states.ndim != 2 or states.shape[1] != columns:
            raise BundleError(f"states of {level} have the shape [rows, {columns}], not {list(states.shape)}")
        return self.sessions[level].run(["retain_probability"], {"state": states})[0]

    def _manifest(self):
        raw = (self.folder / "manifest.json").read_bytes()
        start = b'{\n  "sha256": "'
        if not raw.startswith(start):
            raise BundleError("manifest.json is not the manifest of a bundle")
        end = len(start) + 64
        blank = start + b"0" * 64 + raw[end:]
        if hashlib.sha256(blank).hexdigest() != raw[len(start) : end].decode():
            raise BundleError("manifest.json was changed after the export; copy the bundle again")
        manifest = json.loads(raw)
        if manifest["format"] != "earshot-selector":
            raise BundleError(f"this is a bundle of the format {manifest['format']}, not of a selector")
        return manifest

    def _read(self, name):
        raw = (self.folder / name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != self.manifest["files"][name]:
            raise BundleError(f"{name} was changed after the export; copy the bundle again")
        return raw

    def _check_golden(self):
        for line in self._read("golden.jsonl").decode().splitlines():
            golden = json.loads(line)
            state = np.frombuffer(base64.b64decode(golden["state"]), "<f4")[None]
            found = float(self.retain_probability(golden["level"], state)[0])
            if not abs(found - golden["retainProbability"]) <= TOLERANCE:
                raise BundleError(
                    f"a golden item of {golden['level']} is decided differently here: "
                    f"{found}, and {golden['retainProbability']} when it was exported"
                )


def main():
    try:
        selector = Selector(Path(__file__).parent)
        for line in sys.stdin:
            if line.strip() == "":
                continue
            item = json.loads(line)
            probability = float(selector.retain_probability(item["level"], np.asarray([item["state"]]))[0])
            print(json.dumps({"level": item["level"], "retainProbability": probability, "retained": probability >= 0.5}))
    except (BundleError, OSError, KeyError, ValueError) as problem:
        sys.exit(f"earshot_selector.py: {problem}")


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # Whoever read the decisions has gone, as `head` does. Python would say so again when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
