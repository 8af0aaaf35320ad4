import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { Router } from 'zeromq';
import type { OpenThings } from '../../../support/open-things.js';

interface Recording {
  readonly question: string;
  readonly answers: Readonly<Record<'bfloat16' | 'float16', readonly string[]>>;
}

const RECORDING = JSON.parse(
  readFileSync(
    new URL('../../../fixtures/engines/vllm-pd-0.32.0/side-channel.json', import.meta.url),
    'utf8',
  ),
) as Recording;

/** What vLLM's own decode engines ask. */
export const RECORDED_QUESTION: Buffer = Buffer.from(RECORDING.question, 'hex');

/** The frames that an engine of vLLM 0.32.0 answers with. */
export function recordedAnswer(dtype: 'bfloat16' | 'float16'): readonly Buffer[] {
  return RECORDING.answers[dtype].map((frame) => Buffer.from(frame, 'hex'));
}

/** A side channel that is played over a real ZeroMQ socket. */
export interface PlayedSideChannel {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** All frames that came behind the identity of the asking socket, message by message. */
  readonly asked: readonly (readonly Buffer[])[];
}

/** Binds a ROUTER that answers each message with `answer`, or with nothing. */
export async function playSideChannel(
  answer: readonly Uint8Array[] | undefined,
  open: OpenThings,
): Promise<PlayedSideChannel> {
  const socket = new Router({ linger: 0 });
  await socket.bind('tcp://127.0.0.1:*');
  const asked: (readonly Buffer[])[] = [];
  const played = (async () => {
    for await (const [identity, ...frames] of socket) {
      asked.push(frames);
      if (identity !== undefined && answer !== undefined)
        await socket.send([identity, ...answer.map((frame) => Buffer.from(frame))]);
    }
  })();
  open.add(async () => {
    socket.close();
    await played;
  });
  return { address: (socket.lastEndpoint as string).slice('tcp://'.length), asked };
}

/** A port on the loopback at which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
