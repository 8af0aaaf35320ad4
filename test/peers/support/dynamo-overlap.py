#!/usr/bin/env python3
"""Asks Dynamo's standalone router who holds how much of a prompt, and prints its answer as JSON.

usage: dynamo-overlap.py TOKEN,TOKEN,...

It waits until there is a router. The line that begins with "answer:" is the answer; the others are Dynamo's log. Discovery comes from the environment, as for every process of Dynamo.
"""

import asyncio
import json
import sys

import uvloop
from dynamo.runtime import DistributedRuntime


async def main(tokens):
    runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp")
    client = await runtime.endpoint("dynamo.router.get_overlap_scores").client()
    await client.wait_for_instances()
    async for answer in await client.generate({"token_ids": tokens}):
        data = answer.data()
        print("answer:", data if isinstance(data, str) else json.dumps(data), flush=True)


uvloop.run(main([int(token) for token in sys.argv[1].split(",")]))
