import { SnapshotError, takeSnapshot } from '../../../app/fleet-snapshot.js';
import type { Address } from '../../../edge/platform/address.js';
import { type RpcChannel, RpcDialer } from '../../../edge/rpc/channel.js';
import { ConnectError } from '../../../edge/rpc/connect-error.js';
import type { Security } from '../../../edge/security/security.js';
import type { EvidencePart } from '../../../tools/doctor/evidence.js';
import { fleetPart, sidecarPart } from '../../../tools/doctor/gather/fleet.js';
import { notRead } from '../../../tools/doctor/gather/outcomes.js';
import type { DoctorContext, DoctorSettings } from './context.js';

/** Asks aggregators and sidecars. */
export class FleetAsker {
  readonly #dialer: RpcDialer;
  readonly #timeoutMs: number;
  readonly #context: DoctorContext;

  constructor(security: Security, { timeoutMs }: DoctorSettings, context: DoctorContext) {
    this.#dialer = new RpcDialer({ connectTimeoutMs: timeoutMs }, { clock: context.clock, security });
    this.#timeoutMs = timeoutMs;
    this.#context = context;
  }

  /** Rejects only with the signal's reason. */
  async ask(address: Address): Promise<EvidencePart> {
    const { clock, signal } = this.#context;
    let channel: RpcChannel | undefined;
    try {
      channel = this.#dialer.dial(address);
      const snapshot = await takeSnapshot(channel, { clock, signal, timeoutMs: this.#timeoutMs });
      return snapshot.type === 'sidecar'
        ? sidecarPart(address.text, snapshot.report)
        : fleetPart(address.text, snapshot.agreements, snapshot.workers);
    } catch (error) {
      if (!(error instanceof SnapshotError || error instanceof ConnectError)) throw error;
      // The part is called by its address already.
      const [said, prefix] = [error.message, `${address.text}: `];
      return notRead('fleet', address.text, said.startsWith(prefix) ? said.slice(prefix.length) : said);
    } finally {
      channel?.close();
    }
  }
}
