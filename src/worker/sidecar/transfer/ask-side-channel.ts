import type { Address } from '../../../edge/platform/address.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { tryConnect } from '../../../edge/platform/net/try-connect.js';
import { watchDeadline } from '../../../edge/platform/time/deadline.js';
import { SideChannel_State } from '../../../gen/kvaccord/v1/capabilities.js';
import { UnreadableError } from '../../kv-events/decode/msgpack-reader.js';
import type { Sockets } from '../../kv-events/sockets/zmq-sockets.js';
import { NIXL_QUESTION, type NixlMetadata, readNixlMetadata } from './nixl-metadata.js';

/** Milliseconds for the connection: the engine is on this machine. */
const CONNECT_TIMEOUT_MS = 1_000;
/** Milliseconds for the answer. The listener is a thread of the engine's core, which a long step keeps busy. */
const ANSWER_TIMEOUT_MS = 4_000;

/** What came of asking one side channel. */
export interface AskedSideChannel {
  readonly state: SideChannel_State;
  /** Why it is not `ANSWERED`; else empty. */
  readonly reason: string;
  readonly metadata?: NixlMetadata;
}

export interface AskModules {
  readonly clock: Clock;
  readonly sockets: Sockets;
}

/**
 * Asks a NIXL side channel for its metadata, as a decode engine does before its
 * first transfer. The one message goes to what has shown itself to be a ZeroMQ
 * socket; the question is never sent twice. Never rejects; leaves nothing open.
 */
export async function askSideChannel(
  address: Extract<Address, { type: 'tcp' }>,
  modules: AskModules,
  signal: AbortSignal,
): Promise<AskedSideChannel> {
  const unreachable = await tryConnect(address, CONNECT_TIMEOUT_MS, modules, signal);
  if (unreachable !== undefined)
    return { state: SideChannel_State.UNREACHABLE, reason: `nothing listens there: ${unreachable}` };
  let socket: ReturnType<Sockets['ask']> | undefined;
  let stopWatching: (() => void) | undefined;
  try {
    const opened = modules.sockets.ask(`tcp://${address.text}`);
    socket = opened;
    stopWatching = watchDeadline({ timeoutMs: ANSWER_TIMEOUT_MS, signal }, modules, () => opened.close());
    // The question waits for the peer's handshake, and fails when the socket is closed meanwhile.
    const sent = opened.send(['', NIXL_QUESTION]).catch(() => {});
    const frames = await opened.receive();
    await sent;
    if (frames === undefined)
      return silent(`no answer within ${ANSWER_TIMEOUT_MS} ms: is its listener dead?`);
    return { state: SideChannel_State.ANSWERED, reason: '', metadata: readNixlMetadata(frames) };
  } catch (thrown) {
    if (thrown instanceof UnreadableError) return silent(`its answer cannot be read (${thrown.message})`);
    return silent(describeError(thrown));
  } finally {
    stopWatching?.();
    socket?.close();
  }
}

function silent(reason: string): AskedSideChannel {
  return { state: SideChannel_State.SILENT, reason };
}
