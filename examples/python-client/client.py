#!/usr/bin/env python3
"""Asks a sidecar what its engine uses, or watches an aggregator's fleet. README.md shows both.

There are no .proto files and no generated code here: the server describes its own messages by reflection.
"""

import argparse
import datetime
import re
import sys
import threading
import unicodedata

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToJson
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SILENCE_S = 15
"""A watched server sends a heartbeat every 5 s: after three without one it counts as gone."""


class UsageError(Exception):
    """What the caller has to change before anything is asked."""


class CallFailed(Exception):
    """What a call came to, in words that follow HOST:PORT."""


def read_command_line():
    parser = argparse.ArgumentParser(prog="client.py", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("command", choices=["capabilities", "watch"], help="of a sidecar, or of an aggregator")
    add("target", metavar="HOST:PORT")
    add("--group", metavar="MODEL", default="", help="watch: the served model, where the fleet serves several")
    add("--timeout", metavar="SECONDS", type=float, default=5, help="longest wait for the first answer (default 5)")
    add("--json", action="store_true", help="the messages as JSON, one a line")
    add("--tls-ca", metavar="FILE", help="authorities that the server's certificate must come from, PEM")
    add("--tls-cert", metavar="FILE", help="this client's own certificate, PEM")
    add("--tls-key", metavar="FILE", help="the key of --tls-cert, PEM")
    add("--tls-server-name", metavar="NAME", help="the name in the server's certificate, where it is not HOST")
    add("--token-file", metavar="FILE", help="file with the bearer token")
    add("--insecure", action="store_true", help="allow plaintext beyond this machine")
    asked = parser.parse_args()
    if not re.fullmatch(r".+:\d{1,5}|unix:.+", asked.target):
        raise UsageError(f"{asked.target} is no HOST:PORT")
    if not 0 < asked.timeout <= 3600:
        raise UsageError(f"--timeout is {asked.timeout}; give seconds, above 0 and at most 3600")
    return asked


class EveryCall(
    grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor
):
    """Gives every call the token, also those of reflection, and a deadline, but for the watch: it has no end."""

    def __init__(self, metadata, timeout):
        self._metadata, self._timeout = metadata, timeout

    def _go_on(self, proceed, details, request):
        is_watch = "/Watch" in details.method
        changed = grpc.ClientCallDetails()
        changed.method, changed.metadata = details.method, self._metadata
        changed.timeout = None if is_watch else self._timeout
        changed.credentials, changed.wait_for_ready, changed.compression = None, None, None
        return proceed(changed, request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = _go_on


def connect(asked):
    def read(path):
        if path is None:
            return None
        with open(path, "rb") as file:
            return file.read()

    metadata = []
    if asked.token_file is not None:
        token = re.search(rb"^[^#\s]\S*", read(asked.token_file), re.MULTILINE)  # lines with # are comments
        if token is None:
            raise UsageError(f"{asked.token_file} has no token")
        metadata.append(("authorization", f"Bearer {token[0].decode()}"))
    options = [("grpc.enable_http_proxy", 0)]  # the proxy of a pod's environment is for the world outside
    if asked.tls_ca is not None:
        if asked.tls_server_name is not None:
            options.append(("grpc.ssl_target_name_override", asked.tls_server_name))
        credentials = grpc.ssl_channel_credentials(read(asked.tls_ca), read(asked.tls_key), read(asked.tls_cert))
        channel = grpc.secure_channel(asked.target, credentials, options)
    elif asked.insecure or re.match(r"unix:|localhost:|127\.|\[::1\]", asked.target):
        channel = grpc.insecure_channel(asked.target, options)
    else:  # nor does a token leave this machine in plaintext
        raise UsageError(f"{asked.target} is not on this machine: set --tls-ca, or --insecure for plaintext")
    return grpc.intercept_channel(channel, EveryCall(metadata, asked.timeout))


def find_method(channel, service, name):
    """A method as grpcio takes it: the callable for its kind, and the class of its requests."""
    reflection = ProtoReflectionDescriptorDatabase(channel)
    served = reflection.get_services()
    if service not in served:
        raise CallFailed(f"does not serve {service}; it serves {', '.join(served)}")
    method = DescriptorPool(reflection).FindServiceByName(service).methods_by_name[name]
    Request, Answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    make = channel.unary_stream if method.server_streaming else channel.unary_unary
    return make(f"/{service}/{name}", Request.SerializeToString, Answer.FromString), Request


def print_line(text):
    """Prints one line; text of others cannot steer the terminal."""
    is_plain = lambda character: unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp")
    print("".join(one if is_plain(one) else "\ufffd" for one in text), flush=True)


def print_json(message):
    # One line, names as in the .proto files; 64-bit integers become text, as proto JSON has them.
    print(MessageToJson(message, preserving_proto_field_name=True, indent=None), flush=True)


def word(message, field):
    """The name of an enum's value; a value that is newer than the server's own description stays a number."""
    number = getattr(message, field)
    value = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(number)
    return str(number) if value is None else value.name


def optional(message, field, absent="not known"):
    """An `optional` field that is absent reads as 0, and only HasField distinguishes it from a 0 that the engine said."""
    return getattr(message, field) if message.HasField(field) else absent


def ask_capabilities(channel, asked):
    get_capabilities, Request = find_method(channel, "kvaccord.v1.Capabilities", "GetCapabilities")
    report = get_capabilities(Request()).report
    if asked.json:
        return print_json(report)

    def line(name, *words):
        print_line(name.ljust(18) + " ".join(str(word) for word in words if word != ""))

    line("worker", report.worker_id)
    line("engine", word(report.engine, "kind"), report.engine.version, word(report.engine, "state"))
    line("model", ", ".join(report.model.served_names))
    size = optional(report.contract, "tokens_per_block")
    evidence = [one for one in report.evidence if one.field == "contract.tokens_per_block"][:1]
    line("tokens per block", size, *(f"({word(one, 'source')}, {one.origin})" for one in evidence))
    blocks = optional(report.capacity, "total_kv_blocks")  # Python's integers have no bound
    is_known = isinstance(blocks, int) and isinstance(size, int)
    line("KV blocks", blocks, f"({blocks * size} tokens)" if is_known else "")
    for gpu in report.topology.gpus:
        line("GPU", gpu.product_name, f"(memory: {optional(gpu, 'memory_bytes', 'unknown')} bytes)")
    for name, value in report.topology.placement.topology_domains.items():
        line("topology domain", f"{name}={value}")
    line("report", word(report.completeness, "state"), "; ".join(report.completeness.reasons))


def watch_fleet(channel, asked):
    watch_agreement, Request = find_method(channel, "kvaccord.v1.Fleet", "WatchAgreement")
    call = watch_agreement(Request(group=asked.group))
    limit = asked.timeout
    while True:
        timer = threading.Timer(limit, call.cancel)
        timer.start()
        try:
            message = next(call)
        except StopIteration:
            raise CallFailed("ended the watch; ask again to go on") from None
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.CANCELLED:
                raise CallFailed(f"said nothing for {limit:g} s") from None
            raise
        finally:
            timer.cancel()
        limit = SILENCE_S
        if message.WhichOneof("payload") != "agreement":
            continue  # a heartbeat
        if asked.json:
            print_json(message.agreement)
        else:
            print_agreement(message.agreement)


def print_agreement(agreement):
    is_agreed = agreement.HasField("contract")
    size = f"{agreement.contract.tokens_per_block} tokens per block" if is_agreed else "nothing agreed"
    gate = "gate open" if agreement.gate_open else "gate shut"
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    print_line(f"{now} {agreement.group}: {gate}, {size}, epoch {agreement.epoch}, routing {agreement.routing_mode}")
    for reason in agreement.reasons:
        print_line(f"  because {' '.join(reason.text.splitlines())}")
    for member in agreement.members:
        size = optional(member, "tokens_per_block", "-")
        print_line(f"  {member.target}  {word(member, 'state')}  {size}  {member.reason}".rstrip())


def explain(error, asked):
    """What an operator reads when a call has failed."""
    code, details = error.code(), error.details()
    if code == grpc.StatusCode.UNAVAILABLE:
        return f"is unavailable: {details}"
    if code == grpc.StatusCode.UNAUTHENTICATED:
        return f"does not accept this client: {details}; see --token-file"
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"said nothing for {asked.timeout:g} s"
    return details


def main():
    asked = None
    try:
        asked = read_command_line()
        with connect(asked) as channel:
            (watch_fleet if asked.command == "watch" else ask_capabilities)(channel, asked)
    except (KeyboardInterrupt, BrokenPipeError):  # or its reader has left, as `head` does
        return 130
    except (UsageError, OSError) as error:
        print(f"client.py: {error} (--help has the flags)", file=sys.stderr)
        return 2
    except CallFailed as error:
        print(f"client.py: {asked.target} {error}", file=sys.stderr)
        return 1
    except grpc.RpcError as error:
        print(f"client.py: {asked.target} {explain(error, asked)}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
