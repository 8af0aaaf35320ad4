import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { FILE_DESCRIPTOR_SET_BASE64 } from '../gen/descriptors.js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponse,
  ServerReflectionServer,
} from '../gen/grpc/reflection/v1/reflection.js';
import { RpcError, toStatus } from './errors.js';
import type { RpcEdge } from './handlers.js';

/** Requests that one stream may make: grpcurl makes about one per file and symbol, and a stream lasts one command. */
const MAX_REQUESTS_PER_STREAM = 1_000;

/** A file of the descriptor set: its bytes as the compiler wrote them, and what it imports. */
interface DescriptorFile {
  readonly bytes: Buffer;
  readonly imports: readonly string[];
}

/**
 * Server reflection from the compiler's own descriptors, so that maps,
 * `optional` and names are told exactly as they were written. Only the
 * services that this server really has are listed.
 */
export class Reflection {
  readonly #serviceNames: () => readonly string[];
  /** Decoded when first asked: most processes never are. */
  #index: { files: Map<string, DescriptorFile>; symbols: Map<string, string> } | undefined;

  constructor(modules: { readonly serviceNames: () => readonly string[] }) {
    this.#serviceNames = modules.serviceNames;
  }

  /** The handlers, for v1 and v1alpha alike: their messages are the same on the wire. */
  createHandlers(edge: RpcEdge): ServerReflectionServer {
    return { serverReflectionInfo: (call) => this.#serve(call, edge) };
  }

  /** The answer to one request. */
  answer(request: ServerReflectionRequest): ServerReflectionResponse {
    return { validHost: request.host, originalRequest: request, messageResponse: this.#respond(request) };
  }

  #serve(call: ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>, edge: RpcEdge): void {
    const leave = edge.streams.add({ end: () => call.end() });
    let requests = 0;
    call.on('data', (request: ServerReflectionRequest) => {
      requests += 1;
      if (requests > MAX_REQUESTS_PER_STREAM) {
        const message = `one reflection stream takes at most ${MAX_REQUESTS_PER_STREAM} requests`;
        call.emit('error', toStatus(new RpcError('too_many_messages', message)));
        return;
      }
      // A reader that does not take its answers gets to ask no more until it does.
      if (!call.write(this.answer(request))) {
        call.pause();
        call.once('drain', () => call.resume());
      }
    });
    call.once('end', () => call.end());
    call.once('close', leave);
    call.once('cancelled', leave);
    call.once('error', leave);
  }

  #respond(request: ServerReflectionRequest): ServerReflectionResponse['messageResponse'] {
    const asked = request.messageRequest;
    switch (asked?.$case) {
      case 'listServices': {
        const service = [...this.#serviceNames()].sort().map((name) => ({ name }));
        return { $case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return this.#fileAnswer(asked.value, `no file ${quote(asked.value)}`);
      case 'fileContainingSymbol': {
        const file = this.#load().symbols.get(asked.value.replace(/^\./, ''));
        return this.#fileAnswer(file, `no symbol ${quote(asked.value)}`);
      }
      default:
        // Extensions are of proto2; nothing here has any.
        return refuse(status.UNIMPLEMENTED, 'not answered here: proto3 has no extensions');
    }
  }

  /** The file with everything that it imports, the imports first. */
  #fileAnswer(name: string | undefined, missing: string): ServerReflectionResponse['messageResponse'] {
    const { files } = this.#load();
    if (name === undefined || !files.has(name)) return refuse(status.NOT_FOUND, missing);
    const ordered = new Map<string, Buffer>();
    const visit = (fileName: string): void => {
      const file = files.get(fileName);
      if (file === undefined || ordered.has(fileName)) return;
      for (const imported of file.imports) visit(imported);
      ordered.set(fileName, file.bytes);
    };
    visit(name);
    // Clients take the first as the one that they asked for.
    const fileDescriptorProto = [...ordered.values()].reverse();
    return { $case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
  }

  #load(): { files: Map<string, DescriptorFile>; symbols: Map<string, string> } {
    if (this.#index !== undefined) return this.#index;
    const set = fromBinary(FileDescriptorSetSchema, Buffer.from(FILE_DESCRIPTOR_SET_BASE64, 'base64'));
    const files = new Map<string, DescriptorFile>();
    const symbols = new Map<string, string>();
    for (const file of set.file) {
      const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file));
      files.set(file.name, { bytes, imports: file.dependency });
      for (const symbol of symbolsOf(file)) symbols.set(symbol, file.name);
    }
    this.#index = { files, symbols };
    return this.#index;
  }
}

/** Full names of everything in a file that can be asked for. */
function symbolsOf(file: FileDescriptorProto): string[] {
  const found: string[] = [];
  const prefix = file.package === '' ? '' : `${file.package}.`;
  const visit = (message: DescriptorProto, scope: string): void => {
    const name = `${scope}${message.name}`;
    found.push(name);
    for (const field of message.field) found.push(`${name}.${field.name}`);
    for (const oneof of message.oneofDecl) found.push(`${name}.${oneof.name}`);
    for (const nested of message.nestedType) visit(nested, `${name}.`);
    for (const nested of message.enumType) found.push(`${name}.${nested.name}`);
  };
  for (const message of file.messageType) visit(message, prefix);
  for (const each of file.enumType) found.push(`${prefix}${each.name}`);
  for (const service of file.service) {
    found.push(`${prefix}${service.name}`);
    for (const method of service.method) found.push(`${prefix}${service.name}.${method.name}`);
  }
  return found;
}

/** Longest asked name that an answer repeats. */
const MAX_QUOTED_CHARS = 200;

function quote(name: string): string {
  return JSON.stringify(name.slice(0, MAX_QUOTED_CHARS));
}

function refuse(errorCode: status, errorMessage: string): ServerReflectionResponse['messageResponse'] {
  return { $case: 'errorResponse', value: { errorCode, errorMessage } };
}
