import type { RpcChannel } from '../../src/edge/rpc/channel.js';
import type { SessionListener } from '../../src/fleet/aggregator/sessions/session-listener.js';
import type { CapabilityReport } from '../../src/gen/kvaccord/v1/capabilities.js';
import { Changes } from './changes.js';

/** Keeps what sessions report, and lets tests wait for it. */
export class SessionRecorder implements SessionListener {
  readonly changes: Changes = new Changes();
  /** `report w-1 32`, `alive w-1`, `broken w-1: reason`, in order. */
  readonly events: string[] = [];
  readonly reports: CapabilityReport[] = [];
  readonly receivedAtMs: number[] = [];
  /** Channels that may be used now. */
  readonly channels: Map<string, RpcChannel> = new Map();
  /** `connected w-1`, `disconnected w-1`, in order. */
  readonly connections: string[] = [];
  /** What `onReport` answers. */
  answer = true;
  /** What `onReport` throws in place of an answer. */
  failure: Error | undefined;

  /** Resolves as soon as `holds` does. */
  until(holds: () => boolean): Promise<void> {
    return this.changes.until(holds);
  }

  /** How many events begin with `prefix`. */
  count(prefix: string): number {
    return this.events.filter((event) => event.startsWith(prefix)).length;
  }

  /** Reasons that were given for `target`, in order. */
  brokenReasons(target: string): string[] {
    const prefix = `broken ${target}: `;
    return this.events.flatMap((event) => (event.startsWith(prefix) ? [event.slice(prefix.length)] : []));
  }

  onReport(target: string, report: CapabilityReport, receivedAtMs: number): boolean {
    if (this.failure !== undefined) throw this.failure;
    this.reports.push(report);
    this.receivedAtMs.push(receivedAtMs);
    this.#record(`report ${target} ${report.contract?.tokensPerBlock}`);
    return this.answer;
  }

  onAlive(target: string): void {
    this.#record(`alive ${target}`);
  }

  onBroken(target: string, reason: string): void {
    this.#record(`broken ${target}: ${reason}`);
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.channels.set(target, channel);
    this.connections.push(`connected ${target}`);
    this.changes.notify();
  }

  onOfferAsked(target: string): void {
    this.#record(`asked ${target}`);
  }

  onDisconnected(target: string): void {
    this.channels.delete(target);
    this.connections.push(`disconnected ${target}`);
    this.changes.notify();
  }

  #record(event: string): void {
    this.events.push(event);
    this.changes.notify();
  }
}
