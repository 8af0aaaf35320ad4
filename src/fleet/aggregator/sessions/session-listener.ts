import type { RpcChannel } from '../../../edge/rpc/channel.js';
import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';

/** Who asks more of workers than their reports, over the connections that sessions make. */
export interface ChannelListener {
  /**
   * A session has a connection. The channel stays the session's: it may be
   * used until `onDisconnected` and never closed.
   */
  onConnected?(target: string, channel: RpcChannel): void;
  /**
   * A client asks the sidecar whether its worker is offered; may be called
   * again, and only while a connection stands.
   */
  onOfferAsked?(target: string): void;
  /** The session's connection is about to be closed. */
  onDisconnected?(target: string): void;
}

/** What sessions report; one listener for all of them, so every call names the worker. */
export interface SessionListener extends ChannelListener {
  /**
   * A report came; it is bounded in size but not checked otherwise.
   * `receivedAtMs` is wall-clock time since 1970, for people to read. A
   * listener that answers false does not keep the report (because it refuses
   * it): it is then asked for again after a break, instead of being taken for
   * known.
   */
  onReport(target: string, report: CapabilityReport, receivedAtMs: number): boolean;
  /** The sidecar was heard without news: what it said last stands. */
  onAlive(target: string): void;
  /**
   * There is no session now, in words that an operator can act on; repeated
   * after attempts that failed, at least where they failed for another reason.
   */
  onBroken(target: string, reason: string): void;
}
