"""Renders and tokenises chats with transformers.

    chat-reference.py FOLDER < requests.jsonl > results.jsonl

FOLDER holds `templates` and `tokenizers`. A request is {template, tokenizer,
messages, tools, kwargs}; the messages are what an engine gives to a template.
A result is {text, tokens}, or {error} where Python raises.
"""

import json
import sys
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

folder = Path(sys.argv[1])
SPECIAL = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
# The last one alone: each takes hundreds of megabytes, and requests come sorted by it.
loaded = {}


def load(name):
    if name not in loaded:
        # As it stands in the files: classes of single models change what they read.
        config = json.loads((folder / "tokenizers" / name / "tokenizer_config.json").read_text())
        special = {}
        for kind in SPECIAL:
            value = config.get(f"{kind}_token")
            value = value.get("content") if isinstance(value, dict) else value
            if isinstance(value, str):
                special[f"{kind}_token"] = value
        loaded.clear()
        raw = Tokenizer.from_file(str(folder / "tokenizers" / name / "tokenizer.json"))
        # A template sees the special tokens alone; with the vocabulary this would take ten times as long.
        loaded[name] = (raw, PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE()), **special))
    return loaded[name]


@cache
def template_of(name):
    return (folder / "templates" / name).read_text(encoding="utf-8")


def answer(request):
    raw, tokenizer = load(request["tokenizer"])
    text = tokenizer.apply_chat_template(
        request["messages"],
        tools=request["tools"],
        chat_template=template_of(request["template"]),
        tokenize=False,
        **request["kwargs"],
    )
    return {"text": text, "tokens": raw.encode(text, add_special_tokens=False).ids}


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(result))
