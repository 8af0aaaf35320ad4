import { parseAddress } from '../../../edge/platform/address.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { tryConnect } from '../../../edge/platform/net/try-connect.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import type { CheckSideChannelResponse } from '../../../gen/kvaccord/v1/capabilities.js';

/** Milliseconds for one connection: another host of the same cluster. */
const TIMEOUT_MS = 2_000;
/** Connections that are tried at a time; each takes 2 s at most. */
const MAX_AT_ONCE = 32;
/** Milliseconds for which an answer is given again: several frontends ask about the same pairs. */
const KEPT_MS = 5_000;
/** Answers that are kept: more than there are prefill ranks in a fleet. */
const MAX_KEPT = 1_024;
/** Side channels are of processes without rights: below are the ports of a host's own services. */
const MIN_PORT = 1_024;

interface Check {
  readonly answer: Promise<CheckSideChannelResponse>;
  readonly startedMs: number;
}

/**
 * Finds out whether another engine's side channel can be connected to from here.
 * It connects and sends nothing.
 */
export class SideChannelChecks {
  readonly #clock: Clock;
  /** By address, the oldest first. */
  readonly #checks = new Map<string, Check>();
  #running = 0;

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** `text` is HOST:PORT. Throws an `RpcError` for another text, and where too many are being checked. */
  check(text: string): Promise<CheckSideChannelResponse> {
    const address = parseAddress(text);
    if (address?.type !== 'tcp')
      throw new RpcError('invalid_argument', 'address must be HOST:PORT or [::1]:PORT');
    if (address.port < MIN_PORT) {
      throw new RpcError(
        'invalid_argument',
        `address has port ${address.port}, it must be from ${MIN_PORT} to 65535`,
      );
    }
    const key = address.text.toLowerCase();
    const nowMs = this.#clock.monotonicMs();
    const held = this.#checks.get(key);
    if (held !== undefined && nowMs - held.startedMs < KEPT_MS) return held.answer;
    if (this.#running >= MAX_AT_ONCE) {
      throw new RpcError(
        'too_many_calls',
        `${MAX_AT_ONCE} side channels are being checked; ask again in ${TIMEOUT_MS} ms`,
      );
    }
    this.#running += 1;
    // Without the caller's signal: others may wait for the same answer.
    const answer = tryConnect(address, TIMEOUT_MS, { clock: this.#clock }).then((why) => {
      this.#running -= 1;
      return why === undefined ? { reachable: true, reason: '' } : { reachable: false, reason: why };
    });
    this.#checks.delete(key);
    this.#checks.set(key, { answer, startedMs: nowMs });
    const [oldest] = this.#checks.keys();
    if (this.#checks.size > MAX_KEPT && oldest !== undefined) this.#checks.delete(oldest);
    return answer;
  }
}
