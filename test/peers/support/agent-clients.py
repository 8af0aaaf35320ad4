"""What OpenAI's and Anthropic's own clients make of a server: one JSON object on stdout.

    python agent-clients.py http://127.0.0.1:8000 MODEL
"""

import json
import sys

import anthropic
import openai

url, model = sys.argv[1:]
seen = {}
one = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
other = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)

first = one.responses.create(model=model, input="one two three", max_output_tokens=4, temperature=0)
seen["response"] = [first.object, first.usage.input_tokens]
seen["kept"] = one.responses.retrieve(first.id).id == first.id
more = one.responses.create(
    model=model, input="four five", previous_response_id=first.id, max_output_tokens=4, temperature=0
)
seen["continued"] = more.usage.input_tokens > first.usage.input_tokens
events = [
    event.type
    for event in one.responses.create(
        model=model, input="one two three", max_output_tokens=4, temperature=0, stream=True
    )
]
seen["response_events"] = [events[0], events[-1]]
for name, ask in {
    "unknown_response": lambda: one.responses.create(
        model=model, input="x", previous_response_id="resp_none", max_output_tokens=1
    ),
    "background": lambda: one.responses.create(model=model, input="x", background=True),
    "embeddings": lambda: one.embeddings.create(model=model, input="x"),
}.items():
    try:
        ask()
    except openai.APIStatusError as error:
        seen[name] = [error.status_code, error.code]

tool = {
    "name": "weather",
    "description": "The weather of a place.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
}
turns = [
    {"role": "user", "content": "weather?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"place": "Zürich"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sun"}]},
]
asked = dict(model=model, max_tokens=4, messages=turns, tools=[tool], extra_body={"temperature": 0})
whole = other.messages.create(**asked)
with other.messages.stream(**asked) as stream:
    final = stream.get_final_message()
seen["messages"] = [whole.type, [block.type for block in whole.content] == [block.type for block in final.content]]
counted = other.messages.count_tokens(model=model, messages=turns, tools=[tool]).input_tokens
usage = whole.usage
read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
seen["counted"] = counted == usage.input_tokens + read + written
try:
    other.messages.create(model="nothing", max_tokens=1, messages=turns[:1])
except anthropic.NotFoundError as error:
    seen["unknown_model"] = error.body["error"]["type"]
print(json.dumps(seen))
