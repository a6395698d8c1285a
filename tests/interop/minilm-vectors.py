"""Sentence vectors of all-MiniLM-L6-v2 without Earshot: python minilm-vectors.py <folder> <texts.json>.

Prints {"graph": [...], "original": [...]}: the int8 graph in ONNX Runtime, and the original 32-bit weights by BERT's equations
(Devlin et al. 2019) written out in numpy. Both are the mean over tokens, as in sentence-transformers, not normalised.
"""

import json
import math
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

folder, texts = sys.argv[1], json.load(open(sys.argv[2]))
tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
tokenizer.no_truncation()
tokenizer.no_padding()
config = json.load(open(folder + "/config.json"))
session = onnxruntime.InferenceSession(folder + "/onnx/model_quantized.onnx", providers=["CPUExecutionProvider"])

with open(folder + "/model.safetensors", "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    data = file.read()


def weight(name):
    entry = header[name]
    start, end = entry["data_offsets"]
    assert entry["dtype"] == "F32"
    return np.frombuffer(data[start:end], "<f4").reshape(entry["shape"]).astype(np.float64)


def linear(x, name):
    return x @ weight(name + ".weight").T + weight(name + ".bias")


def normalised(x, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + config["layer_norm_eps"])
    return scaled * weight(name + ".weight") + weight(name + ".bias")


gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))


def bert(ids):
    x = weight("embeddings.word_embeddings.weight")[ids]
    x = x + weight("embeddings.position_embeddings.weight")[: len(ids)] + weight("embeddings.token_type_embeddings.weight")[0]
    x = normalised(x, "embeddings.LayerNorm")
    heads = config["num_attention_heads"]
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            linear(x, at + "attention.self." + part).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = normalised(x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        wide = gelu(linear(x, at + "intermediate.dense"))
        x = normalised(x + linear(wide, at + "output.dense"), at + "output.LayerNorm")
    return x


found = {"graph": [], "original": []}
for text in texts:
    ids = np.array(tokenizer.encode(text).ids, np.int64)
    inputs = {"input_ids": ids[None], "attention_mask": np.ones_like(ids)[None], "token_type_ids": np.zeros_like(ids)[None]}
    wanted = {entry.name for entry in session.get_inputs()}
    (hidden, *_) = session.run(None, {name: value for name, value in inputs.items() if name in wanted})
    found["graph"].append(hidden[0].mean(0).tolist())
    found["original"].append(bert(ids).mean(0).tolist())
print(json.dumps(found))
