"""The same ONNX file behind FastAPI, uvicorn and onnxruntime, as one would write it: one worker, one thread, no access log."""

import sys

import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])


class Input(BaseModel):
    name: str
    shape: list[int]
    datatype: str
    data: list[float]


class Request(BaseModel):
    inputs: list[Input]


class Output(BaseModel):
    name: str
    shape: list[int]
    datatype: str
    data: list[float]


class Response(BaseModel):
    model_name: str
    outputs: list[Output]


app = FastAPI()


@app.get("/v2/health/ready")
async def ready():
    return {}


# In the event loop, and not in a pool of threads: the model takes microseconds.
@app.post("/v2/models/policy/infer")
async def infer(request: Request) -> Response:
    state = request.inputs[0]
    states = np.array(state.data, np.float32).reshape(state.shape)
    probability, action = session.run(["stop_probability", "action"], {"state": states})
    rows = [len(states)]
    return Response(
        model_name="policy",
        outputs=[
            Output(name="stop_probability", shape=rows, datatype="FP32", data=probability.tolist()),
            Output(name="action", shape=rows, datatype="INT64", data=action.tolist()),
        ],
    )


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="error")
