"""Asks vLLM's own KV cache coordinator, without an engine, how much of a prompt is cached.

Reads one JSON case a line: {"tables": [{"kind", "tokensPerBlock", "windowTokens", "held": [block, ...],
"computesLastAgain"}, ...], "promptTokens"}; answers each with the number of tokens of the hit, or with -1 for a case
that this vLLM refuses to be built for.
"""

import json
import math
import sys

import torch
from vllm.v1.core.kv_cache_coordinator import get_kv_cache_coordinator
from vllm.v1.core.kv_cache_utils import BlockHashListWithBlockSize, make_block_hash_with_group_id
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
    SlidingWindowSpec,
)


def spec_of(table):
    width = table["tokensPerBlock"]
    attention = dict(block_size=width, num_kv_heads=1, head_size=1, dtype=torch.float32)
    window = table.get("windowTokens")
    if table["kind"] == "full":
        return FullAttentionSpec(**attention)
    if table["kind"] == "sliding":
        return SlidingWindowSpec(**attention, sliding_window=window)
    if table["kind"] == "chunked":
        return ChunkedLocalAttentionSpec(**attention, attention_chunk_size=window)
    return MambaSpec(block_size=width, shapes=((1,),), dtypes=(torch.float32,), mamba_cache_mode="align")


def hit(case):
    tables = case["tables"]
    widths = [table["tokensPerBlock"] for table in tables]
    groups = [
        KVCacheGroupSpec([f"layer{i}"], spec_of(table), is_eagle_group=table.get("computesLastAgain", False))
        for i, table in enumerate(tables)
    ]
    unit = math.gcd(*widths)
    coordinator = get_kv_cache_coordinator(
        KVCacheConfig(num_blocks=2 + sum(len(table["held"]) for table in tables), kv_cache_tensors=[], kv_cache_groups=groups),
        max_model_len=4096,
        max_in_flight_tokens=4096,
        use_eagle=any(table.get("computesLastAgain", False) for table in tables),
        enable_caching=True,
        enable_kv_cache_events=False,
        dcp_world_size=1,
        pcp_world_size=1,
        scheduler_block_size=math.lcm(*widths),
        hash_block_size=unit,
        # Hits within a block are an extension for states, which no event reports.
        allow_partial_hash_hits=False,
    )
    hashes = [i.to_bytes(32, "big") for i in range(1, case["promptTokens"] // unit + 1)]
    pool = coordinator.block_pool
    number = 0
    for group, table in enumerate(tables):
        width = table["tokensPerBlock"]
        of_group = hashes if width == unit else BlockHashListWithBlockSize(hashes, unit, width)
        for block in table["held"]:
            if block >= len(of_group):
                continue
            number += 1
            key = make_block_hash_with_group_id(of_group[block], group)
            pool.cached_block_hash_to_block.insert(key, pool.blocks[number])
    return coordinator.find_longest_cache_hit(hashes, case["promptTokens"] - 1)[1]


for line in sys.stdin:
    try:
        answer = hit(json.loads(line))
    except (AssertionError, ValueError, NotImplementedError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        answer = -1
    print(answer, flush=True)
