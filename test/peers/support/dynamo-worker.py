#!/usr/bin/env python3
"""A Dynamo worker that may register one block size while its engine uses another.

usage: dynamo-worker.py --model-path DIR --model-name NAME --registered TOKENS --engine TOKENS --kv-events-port PORT
                        [--token-ms MILLISECONDS]

It is made of Dynamo's own parts: it registers a model whose card says REGISTERED, and runs Dynamo's KvEventPublisher
with that number, as a worker does that takes a default for its engine's block size. The engine is played: it holds
blocks of ENGINE tokens, and publishes each prompt's new ones on a ZMQ socket as engines do. A prompt takes time by its
tokens that are not cached, and is answered with as many tokens as are asked for, one every MILLISECONDS. Discovery comes
from the environment, as for every process of Dynamo.
"""

import argparse
import asyncio
import hashlib
import struct
import time

import msgspec
import uvloop
import zmq
from dynamo.common.utils.graceful_shutdown import install_signal_handlers
from dynamo.llm import KvEventPublisher, ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import DistributedRuntime
from dynamo.runtime.logging import configure_dynamo_logging


GRACE_SECONDS = 0.5  # between leaving the discovery and the end, as Dynamo's own workers do in 5 s
PREFILL_SECONDS_PER_TOKEN = 20e-6  # of one that is not cached, so that a hit that is lost can be felt


class PlayedEngine:
    def __init__(self, tokens_per_block, port):
        self.tokens_per_block = tokens_per_block
        self.cached = set()
        self.sequence = 0
        self.socket = zmq.Context.instance().socket(zmq.PUB)
        self.socket.bind(f"tcp://127.0.0.1:{port}")

    def hashes_of(self, tokens):
        """The engine's own hash of each whole block, chained; nobody else can compute them, nor needs to."""
        width, hashes, last = self.tokens_per_block, [], b""
        for start in range(0, len(tokens) - width + 1, width):
            block = struct.pack(f"<{width}I", *tokens[start : start + width])
            last = hashlib.sha256(last + block).digest()
            hashes.append(int.from_bytes(last[:8], "big"))
        return hashes

    def prefill(self, tokens):
        """Stores the blocks that are not cached and reports them; returns the tokens that were."""
        hashes = self.hashes_of(tokens)
        hit = next((i for i, block in enumerate(hashes) if block not in self.cached), len(hashes))
        width = self.tokens_per_block
        if hit < len(hashes):
            self.cached.update(hashes[hit:])
            self.publish(
                {
                    "type": "BlockStored",
                    "block_hashes": hashes[hit:],
                    "parent_block_hash": hashes[hit - 1] if hit else None,
                    "token_ids": tokens[hit * width : len(hashes) * width],
                    "block_size": width,
                    "lora_id": None,
                    "medium": "GPU",
                }
            )
        return hit * width

    def publish(self, event):
        payload = msgspec.msgpack.encode([time.time(), [event], 0])
        self.socket.send_multipart([b"", struct.pack(">Q", self.sequence), payload])
        self.sequence += 1


async def main(args):
    runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp")
    endpoint = runtime.endpoint("dynamo.backend.generate")
    install_signal_handlers(asyncio.get_running_loop(), runtime, [endpoint], grace_period_s=GRACE_SECONDS)
    engine = PlayedEngine(args.engine, args.kv_events_port)

    async def generate(request, context=None):
        tokens = request["token_ids"]
        count = request["stop_conditions"].get("max_tokens") or 2
        cached = engine.prefill(tokens)
        await asyncio.sleep((len(tokens) - cached) * PREFILL_SECONDS_PER_TOKEN)
        for _ in range(count - 1):
            yield {"token_ids": [65]}
            await asyncio.sleep(args.token_ms / 1000)
        usage = {
            "prompt_tokens": len(tokens),
            "completion_tokens": count,
            "total_tokens": len(tokens) + count,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        yield {"token_ids": [66], "finish_reason": "stop", "completion_usage": usage}

    config = ModelRuntimeConfig()
    config.total_kv_blocks = 8192
    config.max_num_seqs = 64
    config.max_num_batched_tokens = 8192
    config.enable_local_indexer = True
    await register_model(
        ModelInput.Tokens,
        ModelType.Chat | ModelType.Completions,
        endpoint,
        args.model_path,
        args.model_name,
        worker_type=WorkerType.Aggregated,
        kv_cache_block_size=args.registered,
        runtime_config=config,
    )
    publisher = KvEventPublisher(
        endpoint=endpoint,
        kv_block_size=args.registered,
        zmq_endpoint=f"tcp://127.0.0.1:{args.kv_events_port}",
        enable_local_indexer=True,
    )
    await endpoint.serve_endpoint(generate)
    del publisher  # it publishes for as long as it is referred to


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--model-name", required=True)
    parser.add_argument("--registered", type=int, required=True, help="tokens per block in the card and the publisher")
    parser.add_argument("--engine", type=int, required=True, help="block size that the engine really uses")
    parser.add_argument("--kv-events-port", type=int, required=True)
    parser.add_argument("--token-ms", type=float, default=0, help="time between two tokens of an answer")
    configure_dynamo_logging()
    uvloop.run(main(parser.parse_args()))
