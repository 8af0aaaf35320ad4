"""What the clients of agents make of a server: OpenAI's, Anthropic's, LangChain's and LiteLLM's, on each API, whole, as
streams and with tools. One JSON object on stdout: what is wrong, by case, and the cases that were run.

    python agent-libraries.py http://127.0.0.1:8000 MODEL TURNS
"""

import json
import os
import sys
import traceback

# Nothing may be fetched, or reported to anyone.
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "DO_NOT_TRACK": "1"}

import anthropic
import litellm
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

url, model, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
litellm.suppress_debug_info = True
litellm.telemetry = False
MAX = 8
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
PARAMETERS = {"name": "weather", "description": "The weather of a place.", "parameters": SCHEMA}
CHAT_TOOLS = [{"type": "function", "function": PARAMETERS}]
RESPONSE_TOOLS = [{"type": "function", **PARAMETERS}]
MESSAGE_TOOLS = [{"name": "weather", "description": "The weather of a place.", "input_schema": SCHEMA}]
ONE = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60)
OTHER = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=60)


def chat_turns(count):
    """A conversation in which a tool was called in each turn but the last."""
    messages = [{"role": "system", "content": "You know the weather."}]
    for at in range(count):
        messages.append({"role": "user", "content": f"Question {at} about the weather?"})
        if at + 1 < count:
            call = {"id": f"c{at}", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Ulm"}'}}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{at}", "content": "sun"},
            ]
    return messages


def response_turns(count):
    items = []
    for at in range(count):
        items.append({"role": "user", "content": f"Question {at} about the weather?"})
        if at + 1 < count:
            items += [
                {"type": "function_call", "call_id": f"c{at}", "name": "weather", "arguments": '{"place": "Ulm"}'},
                {"type": "function_call_output", "call_id": f"c{at}", "output": "sun"},
            ]
    return items


def message_turns(count):
    messages = [{"role": "user", "content": "Question 0 about the weather?"}]
    for at in range(1, count):
        use = {"type": "tool_use", "id": f"c{at}", "name": "weather", "input": {"place": "Ulm"}}
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": "sun"}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, {"type": "text", "text": f"Question {at} about the weather?"}]},
        ]
    return messages


def langchain_turns(count):
    messages = [SystemMessage("You know the weather.")]
    for at in range(count):
        messages.append(HumanMessage(f"Question {at} about the weather?"))
        if at + 1 < count:
            call = {"name": "weather", "args": {"place": "Ulm"}, "id": f"c{at}", "type": "tool_call"}
            messages += [AIMessage("", tool_calls=[call]), ToolMessage("sun", tool_call_id=f"c{at}")]
    return messages


def check(holds, what):
    if not holds:
        raise AssertionError(str(what)[:500])


def openai_chat(count):
    whole = ONE.chat.completions.create(model=model, messages=chat_turns(count), tools=CHAT_TOOLS, max_tokens=MAX)
    check(whole.usage.prompt_tokens > 0 and whole.choices[0].message.role == "assistant", whole)
    stream = ONE.chat.completions.create(
        model=model, messages=chat_turns(count), tools=CHAT_TOOLS, max_tokens=MAX, stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    check(chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens, chunks[-1])


def openai_responses(count):
    asked = dict(
        model=model, instructions="You know the weather.", input=response_turns(count), tools=RESPONSE_TOOLS,
        max_output_tokens=MAX,
    )
    whole = ONE.responses.create(**asked)
    check(whole.object == "response" and whole.usage.input_tokens > 0, whole)
    events = [event.type for event in ONE.responses.create(**asked, stream=True)]
    check(events[0] == "response.created" and events[-1] in ("response.completed", "response.incomplete"), events)


def anthropic_messages(count):
    asked = dict(
        model=model, system="You know the weather.", messages=message_turns(count), tools=MESSAGE_TOOLS, max_tokens=MAX
    )
    whole = OTHER.messages.create(**asked)
    check(whole.type == "message" and whole.role == "assistant", whole)
    with OTHER.messages.stream(**asked) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_message()
    check(events[0] == "message_start" and events[-1] == "message_stop", events)
    check(final.usage.output_tokens > 0, final)


def langchain(chat):
    def case(count):
        bound = chat.bind_tools(CHAT_TOOLS)
        whole = bound.invoke(langchain_turns(count))
        check(whole.usage_metadata["input_tokens"] > 0, whole)
        merged = None
        for chunk in bound.stream(langchain_turns(count)):
            merged = chunk if merged is None else merged + chunk
        check(merged is not None and merged.usage_metadata["output_tokens"] > 0, merged)

    return case


def litellm_chat(prefix, base):
    def case(count):
        asked = dict(
            model=f"{prefix}/{model}", api_base=base, api_key="none", messages=chat_turns(count), tools=CHAT_TOOLS,
            max_tokens=MAX, num_retries=0, timeout=60,
        )
        whole = litellm.completion(**asked)
        check(whole.usage.prompt_tokens > 0, whole)
        chunks = list(litellm.completion(**asked, stream=True))
        check(chunks[-1].choices[0].finish_reason is not None or len(chunks) > 1, chunks)

    return case


def litellm_responses(count):
    asked = dict(
        model=f"openai/{model}", api_base=f"{url}/v1", api_key="none", input=response_turns(count),
        tools=RESPONSE_TOOLS, max_output_tokens=MAX, timeout=60,
    )
    check(litellm.responses(**asked).usage.input_tokens > 0, "no usage")
    check(len(list(litellm.responses(**asked, stream=True))) > 2, "a short stream")


def unknown(ask, error):
    def case(_count):
        try:
            ask()
        except error as found:
            check("nothing" in str(found) or "not" in str(found).lower(), found)
            return
        raise AssertionError("no error")

    return case


MESSAGES = [{"role": "user", "content": "x"}]
common = dict(model=model, api_key="none", max_retries=0, timeout=60)
CASES = {
    "OpenAI, chat": openai_chat,
    "OpenAI, responses": openai_responses,
    "Anthropic, messages": anthropic_messages,
    "LangChain, chat": langchain(ChatOpenAI(**common, base_url=f"{url}/v1", max_tokens=MAX, stream_usage=True)),
    "LangChain, responses": langchain(
        ChatOpenAI(**common, base_url=f"{url}/v1", max_tokens=MAX, use_responses_api=True)
    ),
    "LangChain, messages": langchain(ChatAnthropic(**common, base_url=url, max_tokens=MAX)),
    "LiteLLM, chat": litellm_chat("openai", f"{url}/v1"),
    "LiteLLM, responses": litellm_responses,
    "LiteLLM, messages": litellm_chat("anthropic", url),
    "OpenAI, unknown model": unknown(
        lambda: ONE.chat.completions.create(model="nothing", messages=MESSAGES), openai.NotFoundError
    ),
    "OpenAI, unknown model of a response": unknown(
        lambda: ONE.responses.create(model="nothing", input="x"), openai.NotFoundError
    ),
    "Anthropic, unknown model": unknown(
        lambda: OTHER.messages.create(model="nothing", messages=MESSAGES, max_tokens=1), anthropic.NotFoundError
    ),
    "LiteLLM, unknown model": unknown(
        lambda: litellm.completion(
            model="openai/nothing", api_base=f"{url}/v1", api_key="none", messages=MESSAGES, num_retries=0
        ),
        litellm.NotFoundError,
    ),
    "LiteLLM, unknown model of a message": unknown(
        lambda: litellm.completion(
            model="anthropic/nothing", api_base=url, api_key="none", messages=MESSAGES, num_retries=0
        ),
        litellm.NotFoundError,
    ),
}
wrong = {}
for name, case in CASES.items():
    for count in range(1, turns + 1):
        try:
            case(count)
        except Exception as error:  # a case may fail in any way, and the others are of interest all the same
            wrong[f"{name}, turn {count}"] = f"{type(error).__name__}: {error}"[:600]
            traceback.print_exc()
            break
print(json.dumps({"wrong": wrong, "cases": list(CASES)}))
