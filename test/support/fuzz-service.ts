import {
  Client,
  type ClientReadableStream,
  credentials,
  type MethodDefinition,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import fc from 'fast-check';
import { mutatedMessages } from './wire-mutation.js';

const asBytes = (bytes: Buffer): Buffer => bytes;

/** How long a call may go unanswered before the server counts as hung. */
const ANSWER_MS = 10_000;

/**
 * Sends a server mutations of valid requests, method by method; rejects when
 * a call is neither answered nor refused. `samples`: valid requests of each method, by its name in `service`.
 */
export async function fuzzService(
  address: string,
  service: ServiceDefinition,
  samples: Readonly<Record<string, readonly Uint8Array[]>>,
  numRuns: number,
): Promise<void> {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  try {
    for (const [name, method] of Object.entries(service)) {
      const valid = samples[name];
      if (valid === undefined) throw new Error(`no sample of ${method.path}`);
      await fc.assert(
        fc.asyncProperty(mutatedMessages(valid), async (bytes) => {
          await callOnce(client, method, bytes);
        }),
        { numRuns },
      );
    }
  } finally {
    client.close();
  }
}

/** Resolves with the first result of a call: a message, or its status. */
function callOnce(
  client: Client,
  method: MethodDefinition<unknown, unknown>,
  bytes: Buffer,
): Promise<Buffer | status> {
  const deadline = Date.now() + ANSWER_MS;
  return new Promise((resolve, reject) => {
    const settle = (answer: Buffer | status): void =>
      answer === status.DEADLINE_EXCEEDED
        ? reject(new Error(`${method.path} did not answer ${bytes.toString('hex')}`))
        : resolve(answer);
    if (!method.requestStream && !method.responseStream) {
      client.makeUnaryRequest(method.path, asBytes, asBytes, bytes, { deadline }, (error, answer) =>
        settle(error === null ? (answer ?? Buffer.alloc(0)) : error.code),
      );
      return;
    }
    const listen = (call: ClientReadableStream<Buffer>): void => {
      call.on('data', (answer: Buffer) => {
        call.cancel();
        settle(answer);
      });
      call.on('error', (error: { readonly code: status }) => settle(error.code));
      call.on('end', () => settle(status.OK));
    };
    if (method.requestStream) {
      const call = client.makeBidiStreamRequest(method.path, asBytes, asBytes, { deadline });
      listen(call as unknown as ClientReadableStream<Buffer>);
      call.write(bytes);
    } else listen(client.makeServerStreamRequest(method.path, asBytes, asBytes, bytes, { deadline }));
  });
}
