"""Trains HEARD's published code, unedited, on a folder that beside-heard.ts wrote, and prints JSON about it:

    python published-heard.py HEARD folder --seed 1 --epochs 12 --merge 1 --analyzer word

Model, loss, batches, optimiser, schedule and early stopping are theirs, with the settings of their config.json but for the
number of epochs, the device and what reads no worker processes. Their data_process.py is an example with no entry of its own; the same
vectorizer is fitted here, on the training threads alone. What had to be worked around is marked "as released".
"""

import argparse
import contextlib
import json
import os
import pickle
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

parser = argparse.ArgumentParser()
parser.add_argument("checkout", type=Path)
parser.add_argument("world", type=Path)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--merge", type=int, required=True)
parser.add_argument("--analyzer", required=True)
options = parser.parse_args()
checkout = options.checkout.resolve()
os.chdir(options.world)
world = json.loads(Path("heard.json").read_text())

# As released, it wants a numpy that still has these names.
np.Inf = np.inf
with contextlib.suppress(ImportError):
    import numpy.core.numeric

    numpy.core.numeric.Inf = np.inf
sys.modules.setdefault("numpy.core.numeric", np)

# As released, every loader starts five processes.
original_init = torch.utils.data.DataLoader.__init__


def init_alone(self, *given, **named):
    original_init(self, *given, **{**named, "num_workers": 0})


torch.utils.data.DataLoader.__init__ = init_alone

random.seed(options.seed)
np.random.seed(options.seed)
torch.manual_seed(options.seed)


def merged(values):
    return [values[start : start + options.merge] for start in range(0, len(values), options.merge)]


threads = world["threads"]
texts = {key: [" ".join(own).lower() for own in merged(thread["texts"])] for key, thread in threads.items()}
vectorizer = TfidfVectorizer(
    analyzer=options.analyzer, stop_words="english" if options.analyzer == "word" else None, max_features=1000
)
vectorizer.fit([text for key in world["train"] for text in texts[key]])
width = len(vectorizer.vocabulary_)
data = {
    key: {
        "label": str(thread["label"]),
        "merge_seqs": {
            "merge_times": merged(thread["times"]),
            "merge_tids": merged(list(range(len(thread["times"])))),
            "merge_vecs": vectorizer.transform(texts[key]).toarray().tolist(),
        },
    }
    for key, thread in threads.items()
}
ids = {"val": world["val"], "fold": {"train": world["train"], "test": world["test"]}}
for name, value in (("data.pkl", data), ("ids.pkl", ids)):
    with open(name, "wb") as file:
        pickle.dump(value, file)

config = json.loads((checkout / "config.json").read_text())
settings = config["models"][config["active_model"]]
settings.update(data="data.pkl", data_ids="ids.pkl", device="cpu", dataset="world", model_dir=f"models-{options.seed}/")
settings["hyperparameters"].update(in_feats_RD=width, epochs=options.epochs)

sys.path.insert(0, str(checkout))
with contextlib.redirect_stdout(sys.stderr):
    import Train as published
    from Model import HEARD

    # As released, every thread of validation and test is repeated as often as a batch is large; one is enough.
    original_train = HEARD.train
    batch_size = settings["hyperparameters"]["batch_size"]

    def train(self, mode=True):
        for part in (self, self.HCLSTM, *self.layers):
            part.batch_size = batch_size if mode else 1
        return original_train(self, mode)

    HEARD.train = train
    started = time.process_time()
    handle = published.Train(config)
    loaders = handle.folds_loader["fold"]
    handle.train_HEARD("fold", loaders["train"], handle.val_loader)
    seconds = time.process_time() - started

    model = HEARD(config)
    model.load_state_dict(torch.load(f"models-{options.seed}/HEARD/world/fold/best_model.m"))
    model.eval()
    decisions = []
    with torch.no_grad():
        for batch in loaders["test"]:
            model(batch, if_dp=False)
            _, stops, labels, _ = model.compute_log_likelihood(batch, if_dp=False)
            decisions.append({"postsUsed": int(batch[3][0, stops[0]]), "label": int(labels[0])})

print(json.dumps({"torch": torch.__version__, "seconds": seconds, "decisions": decisions}))
