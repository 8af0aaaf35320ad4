import { Server, ServerCredentials, type status, type UntypedServiceImplementation } from '@grpc/grpc-js';

/** A method as the generated services describe it. */
interface Method {
  readonly path: string;
  readonly requestStream: false;
  readonly responseStream: false;
  readonly requestSerialize: (value: never) => Buffer;
  readonly requestDeserialize: (value: Buffer) => unknown;
}

/** The answer of a method: recorded message bytes in hex, a status, or none at all. */
export type RecordedReply =
  | { readonly hex: string }
  | { readonly code: status; readonly details: string }
  | { readonly hang: () => void };

/** A real gRPC server on a free port of the loopback that answers recorded bytes. */
export interface RecordedGrpcEngine extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** Paths of the calls that came. */
  readonly calls: readonly string[];
}

/** Serves the given methods; every other one is UNIMPLEMENTED, as in the engines. */
export async function serveGrpc(
  methods: readonly (readonly [Method, RecordedReply])[],
): Promise<RecordedGrpcEngine> {
  const calls: string[] = [];
  const server = new Server({ 'grpc.max_send_message_length': 64 * 1024 * 1024 });
  const definition: Record<string, object> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [method, reply] of methods) {
    definition[method.path] = {
      ...method,
      // The recording is the message as it was on the wire.
      responseSerialize: (bytes: Buffer): Buffer => bytes,
      responseDeserialize: (bytes: Buffer): Buffer => bytes,
    };
    implementation[method.path] = (
      _call: unknown,
      callback: (error: object | null, bytes?: Buffer) => void,
    ) => {
      calls.push(method.path);
      if ('hex' in reply) callback(null, Buffer.from(reply.hex, 'hex'));
      else if ('hang' in reply) reply.hang();
      else callback(reply);
    };
  }
  if (methods.length > 0) server.addService(definition as never, implementation);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return {
    address: `127.0.0.1:${port}`,
    calls,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

/** The recorded responses of a `.jsonl` file of gRPC calls, by method name: `vllm.Control/GetServerInfo`. */
export function grpcRecordings(jsonLines: string): ReadonlyMap<string, string> {
  const calls = jsonLines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { method: string; response?: string });
  return new Map(
    calls.flatMap(({ method, response }) => (response === undefined ? [] : [[method, response]])),
  );
}
