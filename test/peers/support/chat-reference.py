"""Renders and tokenises chats with transformers.

    chat-reference.py FOLDER < requests.jsonl > results.jsonl

FOLDER holds `templates` and `tokenizers`. A request is {template, tokenizer,
messages, tools, kwargs}; the messages are what an engine gives to a template.
A result is {text, tokens}, or {error} where Python raises.
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

folder = Path(sys.argv[1])
SPECIAL = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
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
        raw = Tokenizer.from_file(str(folder / "tokenizers" / name / "tokenizer.json"))
        loaded[name] = (raw, PreTrainedTokenizerFast(tokenizer_object=raw, **special))
    return loaded[name]


def answer(request):
    raw, tokenizer = load(request["tokenizer"])
    template = (folder / "templates" / request["template"]).read_text(encoding="utf-8")
    text = tokenizer.apply_chat_template(
        request["messages"],
        tools=request["tools"],
        chat_template=template,
        tokenize=False,
        **request["kwargs"],
    )
    return {"text": text, "tokens": raw.encode(text, add_special_tokens=False).ids}


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(result), flush=True)
