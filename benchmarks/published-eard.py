"""Runs the published trainer of EARD, unedited, on a world that other-code.ts wrote, and prints JSON about it:

    python published-eard.py Few-Shot-EARD folder --seed 1 --iterations 1000

Expert trajectories, states, training and inference are theirs, with the settings of their main.py. Three things are not: the
encoder and the language model read the world's vectors and judgements, and the device is the processor. What had to be worked
around is marked "as released".
"""

import argparse
import ast
import collections
import contextlib
import json
import os
import pickle
import random
import re
import sys
import time
import types
from pathlib import Path

import numpy as np
import torch

parser = argparse.ArgumentParser()
parser.add_argument("checkout", type=Path)
parser.add_argument("world", type=Path)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--iterations", type=int, required=True)
options = parser.parse_args()
checkout, seed = options.checkout.resolve(), options.seed

os.chdir(options.world)
world = json.loads(Path("world.json").read_text())
vectors = torch.from_numpy(np.fromfile("vectors.f32", "<f4").reshape(-1, world["dimensions"]))
model, kind = "gpt-4o-mini", "world"


class Batch(dict):
    def to(self, device):
        return self


class Encoder:
    """In place of BERTweet. The text of a post is "p" and its row; the last two rows are the actions'."""

    actions = {"Continue.": -2, "Stop.": -1}

    # As released, it is sent to "cuda" whatever the settings say.
    def to(self, device):
        return self

    def __call__(self, texts):
        rows = [self.actions[text] if text in self.actions else int(text[1:]) for text in texts]
        return {"last_hidden_state": vectors[rows].unsqueeze(1)}


def answer(model, messages, max_tokens):
    """In place of the language model. The prompt numbers the posts seen and ends with the first again."""
    first, *others = re.findall(r"^Post \d+: (p\d+)$", messages[-1]["content"], re.MULTILINE)
    judgements = world["judgements"][first]
    message = types.SimpleNamespace(content=judgements[min(len(others), len(judgements)) - 1])
    return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])


def stand_in(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=types.SimpleNamespace(create=answer)))
whole_text = types.SimpleNamespace(encode=lambda text: text, decode=lambda text: text)
quiet = types.SimpleNamespace(set_verbosity_error=lambda: None)
stand_in("openai", OpenAI=lambda api_key: client)
stand_in("tiktoken", get_encoding=lambda name: whole_text)
stand_in("transformers", pipeline=None, AutoModel=None, AutoTokenizer=None, AutoModelForCausalLM=None, logging=quiet)
stand_in("nltk")
stand_in("nltk.tokenize", TweetTokenizer=lambda: types.SimpleNamespace(tokenize=str.split))
stand_in("emoji", demojize=lambda token: token)

sys.path.insert(0, str(checkout))
sys.argv = ["main.py"]  # As released, training parses the command line.
import gen_exp_trajs
import main as published


def released_settings():
    """The dictionary at the end of main.py. As released, the three names that it is made from are not defined."""
    names = {"seed": seed, "llm_id": model, "dataset_name": kind}
    for node in ast.walk(ast.parse((checkout / "main.py").read_text())):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and node.targets[0].id == "config":
            return eval(compile(ast.Expression(node.value), "main.py", "eval"), names)
    sys.exit(f"{checkout}/main.py has no settings named config; check out the commit that docs/explanation/benchmarks.md names")


def prepare(settings):
    """Expert trajectories and all states, into the files that training reads. Returns the trajectories."""
    n_sample = settings["dataset"]["n_sample"]
    encoder, tokenizer = Encoder(), lambda texts, **_: Batch(texts=texts)
    # As released, these files are written under a key made of the experts' file name, d1_train_expert_…, and looked up under
    # d1_train_…; so that file is named as the key wants it.
    names = {"demonstrations": f"data/d{seed}_train_{kind}.json", "test": f"data/d{seed}_test_{kind}.json"}
    os.makedirs("data", exist_ok=True)
    for part, path in names.items():
        Path(path).write_text(Path(f"{part}.json").read_text())
    cache = settings["paths"]["cache_file"].format(dataset_split=seed, dataset_type=kind, expert_llm=model)
    made = gen_exp_trajs.get_exp_trajs(
        names["demonstrations"], "environment.json", cache, encoder, tokenizer, n_sample=n_sample, seed=seed, model_id=model
    )
    states = settings["paths"]["test_data_vec_path"].format(dataset_split=seed, dataset_type=kind)
    key = (f"d{seed}_test_{kind}", f"seed{seed}", "eval_vec")
    gen_exp_trajs.get_state_emb_eval(encoder, tokenizer, names["test"], states, key)
    return made["trajectories"]


def marking(function, marks):
    def marked(*arguments, **named):
        marks.append(time.process_time())
        return function(*arguments, **named)

    return marked


settings = released_settings()
settings["model"]["OBS_DIM"] = world["dimensions"]
settings["training"].update(cuda=False, num_iteration=options.iterations)
settings["paths"].update(save_dir="", save_path="results/decided.pkl")
random.seed(seed)  # As released, the choice of trajectories and of pairs is not seeded.
gen_exp_trajs.set_seed(seed)

# The learning rate is set once at the beginning of each iteration, and inference begins where training ends.
marks = []
published.utils.update_linear_schedule = marking(published.utils.update_linear_schedule, marks)
published.infer_gpt = marking(published.infer_gpt, marks)
with contextlib.redirect_stdout(sys.stderr):
    trajectories = prepare(settings)
    published.main(settings)

with open(settings["paths"]["save_path"], "rb") as file:
    decided = pickle.load(file)
experts = collections.Counter(infos[0]["cid"].split("_")[1] for infos in trajectories["infos"])
print(
    json.dumps(
        {
            "torch": torch.__version__,
            "secondsOfIterations": np.diff(marks).tolist(),
            "demonstrations": {
                "conservative": experts["strict"],
                "earlyAction": experts["venture"],
                "misleading": experts["incorrect"],
            },
            "decisions": [
                {"postsUsed": len(own["obs_text"]), "label": {"0": 0, "1": 1}.get(own["pred_label"], -1)}
                for own in decided.values()
            ],
        }
    )
)
