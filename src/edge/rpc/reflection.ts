import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponse,
  ServerReflectionServer,
} from '../../gen/grpc/reflection/v1/reflection.js';
import { type HasRoom, hasDescriptorRoom } from '../platform/processes/load-part.js';
import type { DescriptorIndex } from './descriptor-index.js';
import { RpcError, toRpcError, toStatus } from './errors.js';
import type { RpcEdge } from './handlers.js';

/** Requests that one stream may make: grpcurl makes about one per file and symbol, and a stream lasts one command. */
const MAX_REQUESTS_PER_STREAM = 1_000;

/**
 * Server reflection from the compiler's own descriptors, so that maps,
 * `optional` and names are sent exactly as they were written. Only the
 * services that this server really has are listed.
 */
export class Reflection {
  readonly #serviceNames: () => readonly string[];
  readonly #hasRoom: HasRoom;
  /**
   * Loaded when first asked: most processes never are, and the library that
   * decodes it is a tenth of a sidecar's memory and start-up.
   */
  #index: Promise<DescriptorIndex> | undefined;

  constructor(modules: { readonly serviceNames: () => readonly string[]; readonly hasRoom?: HasRoom }) {
    this.#hasRoom = modules.hasRoom ?? hasDescriptorRoom;
    this.#serviceNames = modules.serviceNames;
  }

  /** The handlers, for v1 and v1alpha alike: their messages are the same on the wire. */
  createHandlers(edge: RpcEdge): ServerReflectionServer {
    return { serverReflectionInfo: (call) => this.#serve(call, edge) };
  }

  /** The answer to one request. */
  async answer(request: ServerReflectionRequest): Promise<ServerReflectionResponse> {
    const messageResponse = this.#respond(request, await this.#load());
    return { validHost: request.host, originalRequest: request, messageResponse };
  }

  /** Never a load that failed: Node would keep it, and so would this. */
  #load(): Promise<DescriptorIndex> {
    if (this.#index !== undefined) return this.#index;
    if (!this.#hasRoom()) {
      const message = 'reflection is not loaded yet and no files can be opened now: ask again later';
      return Promise.reject(new RpcError('unavailable', message));
    }
    const loading = import('./descriptor-index.js').then((module) => module.readDescriptorIndex());
    this.#index = loading;
    // The caller gets the error, and the next one tries again.
    loading.catch(() => {
      this.#index = undefined;
    });
    return loading;
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
      // One at a time, in order; a reader that does not take its answers gets to ask no more until it does.
      call.pause();
      this.answer(request).then(
        (answer) => {
          if (call.writableEnded || call.cancelled) return;
          if (call.write(answer)) call.resume();
          else call.once('drain', () => call.resume());
        },
        (error: unknown) => call.emit('error', toStatus(toRpcError(error, call.getPath(), edge))),
      );
    });
    call.once('end', () => call.end());
    call.once('close', leave);
    call.once('cancelled', leave);
    call.once('error', leave);
  }

  #respond(
    request: ServerReflectionRequest,
    index: DescriptorIndex,
  ): ServerReflectionResponse['messageResponse'] {
    const asked = request.messageRequest;
    switch (asked?.$case) {
      case 'listServices': {
        const service = [...this.#serviceNames()].sort().map((name) => ({ name }));
        return { $case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return fileAnswer(asked.value, `no file ${quote(asked.value)}`, index);
      case 'fileContainingSymbol': {
        const file = index.symbols.get(asked.value.replace(/^\./, ''));
        return fileAnswer(file, `no symbol ${quote(asked.value)}`, index);
      }
      default:
        // Extensions are of proto2; nothing here has any.
        return refuse(status.UNIMPLEMENTED, 'not answered here: proto3 has no extensions');
    }
  }
}

/** The file with everything that it imports, the imports first. */
function fileAnswer(
  name: string | undefined,
  missing: string,
  { files }: DescriptorIndex,
): ServerReflectionResponse['messageResponse'] {
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

/** Longest asked name that an answer repeats. */
const MAX_QUOTED_CHARS = 200;

function quote(name: string): string {
  return JSON.stringify(name.slice(0, MAX_QUOTED_CHARS));
}

function refuse(errorCode: status, errorMessage: string): ServerReflectionResponse['messageResponse'] {
  return { $case: 'errorResponse', value: { errorCode, errorMessage } };
}
