import type { IncomingHttpHeaders } from 'node:http';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { MethodDefinition } from '@grpc/grpc-js';
import { Metadata } from '../../../gen/envoy/config/core/v3/base.js';
import {
  ExternalProcessorService,
  type HttpBody,
  ProtocolConfiguration,
} from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';
import { ANSWER_HEADERS } from './names.js';
import { HeaderReading } from './read-headers.js';
import { BODY_BYTES, BODY_END, BYTES, tagOf, VARINT } from './wire-tags.js';
import { packAnswers, type WrittenAnswer } from './write-answers.js';

/** The head of a request, or of an answer. */
export interface ShownHeaders {
  /** By lower-case name, pseudo headers (`:path`) too; of an answer only those that are looked at. */
  readonly headers: IncomingHttpHeaders;
  readonly endOfStream: boolean;
}

/** A message of a gateway. */
export interface GatewayMessage {
  readonly request:
    | { readonly $case: 'requestHeaders' | 'responseHeaders'; readonly value: ShownHeaders }
    | { readonly $case: 'requestBody' | 'responseBody'; readonly value: HttpBody }
    | { readonly $case: 'requestTrailers' | 'responseTrailers' }
    | undefined;
  /** Of heads alone, where it says something. */
  readonly metadataContext: Metadata | undefined;
  readonly observabilityMode: boolean;
  readonly protocolConfig: ProtocolConfiguration | undefined;
}

/**
 * `ExternalProcessor/Process` as it is served: the generated service, but messages are read without an object for each header,
 * bodies are views of their messages, and several answers are written at a time.
 */
export const extProcService: {
  readonly process: MethodDefinition<GatewayMessage, readonly WrittenAnswer[]>;
} = {
  process: {
    ...ExternalProcessorService.process,
    requestSerialize: neverWritten,
    requestDeserialize: readMessage,
    responseSerialize: packAnswers,
    responseDeserialize: neverRead,
  },
};

/** A server writes no requests. */
function neverWritten(): never {
  throw new Error('messages of gateways are not written here');
}

/** Nor does it read answers. */
function neverRead(): never {
  throw new Error('answers are not read here');
}

const NO_BYTES = Buffer.alloc(0);

/** Reads the fields of a message, whose bytes it lends. */
class Fields extends BinaryReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    super(bytes);
    this.#bytes = bytes;
  }

  /** Where a field ends whose length comes next. Throws where that is beyond what it stands in. */
  end(within: number): number {
    const end = this.uint32() + this.pos;
    if (end > within) throw new RangeError('a field goes beyond the end of its message');
    return end;
  }

  /** A field of bytes, as a view. */
  bytesOf(within: number): Buffer {
    const end = this.end(within);
    const start = this.pos;
    this.pos = end;
    return this.#bytes.subarray(start, end);
  }

  /** A field of bytes, as a text. */
  text(within: number, encoding: 'latin1' | 'utf8'): string {
    const end = this.end(within);
    const start = this.pos;
    this.pos = end;
    return start === end ? '' : this.#bytes.toString(encoding, start, end);
  }

  /** Passes over a field that is not known. */
  pass(tag: number): void {
    // It throws for a field that no message has.
    this.skip(tag & 7, tag >>> 3);
  }
}

/** Tags of the messages that are read, by their names in the published files. */
const TAG = {
  requestHeaders: tagOf(2, BYTES),
  responseHeaders: tagOf(3, BYTES),
  requestBody: tagOf(4, BYTES),
  responseBody: tagOf(5, BYTES),
  requestTrailers: tagOf(6, BYTES),
  responseTrailers: tagOf(7, BYTES),
  metadataContext: tagOf(8, BYTES),
  observabilityMode: tagOf(10, VARINT),
  protocolConfig: tagOf(11, BYTES),
  headMap: tagOf(1, BYTES),
  headEnd: tagOf(3, VARINT),
  header: tagOf(1, BYTES),
  headerKey: tagOf(1, BYTES),
  headerValue: tagOf(2, BYTES),
  headerRawValue: tagOf(3, BYTES),
  bodyBytes: BODY_BYTES,
  bodyEnd: BODY_END,
} as const;

/** Reads a message. Throws where it is none. Fields that are not known are passed over: newer gateways have more of them. @internal */
export function readMessage(bytes: Buffer): GatewayMessage {
  const fields = new Fields(bytes);
  let request: GatewayMessage['request'];
  let metadata: Buffer | undefined;
  let observabilityMode = false;
  let protocolConfig: ProtocolConfiguration | undefined;
  while (fields.pos < fields.len) {
    const tag = fields.uint32();
    switch (tag) {
      case TAG.requestHeaders:
        request = { $case: 'requestHeaders', value: readHead(fields, new HeaderReading()) };
        break;
      case TAG.responseHeaders:
        request = { $case: 'responseHeaders', value: readHead(fields, new HeaderReading(ANSWER_HEADERS)) };
        break;
      case TAG.requestBody:
        request = { $case: 'requestBody', value: readBody(fields) };
        break;
      case TAG.responseBody:
        request = { $case: 'responseBody', value: readBody(fields) };
        break;
      case TAG.requestTrailers:
        fields.pass(tag);
        request = { $case: 'requestTrailers' };
        break;
      case TAG.responseTrailers:
        fields.pass(tag);
        request = { $case: 'responseTrailers' };
        break;
      case TAG.metadataContext:
        metadata = fields.bytesOf(fields.len);
        break;
      case TAG.observabilityMode:
        observabilityMode = fields.bool();
        break;
      case TAG.protocolConfig:
        protocolConfig = ProtocolConfiguration.decode(fields.bytesOf(fields.len));
        break;
      default:
        fields.pass(tag);
    }
  }
  const isHead = request?.$case === 'requestHeaders' || request?.$case === 'responseHeaders';
  const metadataContext = isHead && metadata !== undefined ? Metadata.decode(metadata) : undefined;
  return { request, metadataContext, observabilityMode, protocolConfig };
}

/** Reads an `HttpHeaders`. */
function readHead(fields: Fields, reading: HeaderReading): ShownHeaders {
  const end = fields.end(fields.len);
  let endOfStream = false;
  while (fields.pos < end) {
    const tag = fields.uint32();
    if (tag === TAG.headMap) readHeaderMap(fields, fields.end(end), reading);
    else if (tag === TAG.headEnd) endOfStream = fields.bool();
    else fields.pass(tag);
  }
  return { headers: reading.headers, endOfStream };
}

function readHeaderMap(fields: Fields, end: number, reading: HeaderReading): void {
  while (fields.pos < end) {
    const tag = fields.uint32();
    if (tag === TAG.header) readHeader(fields, fields.end(end), reading);
    else fields.pass(tag);
  }
}

/** Reads a `HeaderValue`, whose value is in one of two fields. */
function readHeader(fields: Fields, end: number, reading: HeaderReading): void {
  let key = '';
  let value = '';
  let raw = '';
  while (fields.pos < end) {
    const tag = fields.uint32();
    if (tag === TAG.headerKey) key = fields.text(end, 'latin1');
    else if (tag === TAG.headerRawValue) raw = fields.text(end, 'latin1');
    else if (tag === TAG.headerValue) value = fields.text(end, 'utf8');
    else fields.pass(tag);
  }
  reading.add(key, raw === '' ? value : raw);
}

/** Reads an `HttpBody`. */
function readBody(fields: Fields): HttpBody {
  const end = fields.end(fields.len);
  let body: Buffer = NO_BYTES;
  let endOfStream = false;
  while (fields.pos < end) {
    const tag = fields.uint32();
    if (tag === TAG.bodyBytes) body = fields.bytesOf(end);
    else if (tag === TAG.bodyEnd) endOfStream = fields.bool();
    else fields.pass(tag);
  }
  return { body, endOfStream };
}
