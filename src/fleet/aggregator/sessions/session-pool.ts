import { isOtherIdentity } from '../../../core/agreement/state/events.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { ConnectGate } from '../../../edge/platform/net/connect-gate.js';
import type { Random } from '../../../edge/platform/random.js';
import { SilenceWatch } from '../../../edge/platform/streams/silence-watch.js';
import type { StreamRefusals } from '../../../edge/platform/streams/stream-refusals.js';
import type { RpcDialer } from '../../../edge/rpc/channel.js';
import { DiscoveryError } from '../../discovery/discovery-error.js';
import { parseWorkerAddress } from '../../discovery/parse-target.js';
import type { Endpoint } from '../../discovery/source.js';
import type { SessionListener } from './session-listener.js';
import { WorkerSession, type WorkerSessionModules } from './worker-session.js';

export interface SessionPoolOptions {
  /** Sessions that connect at a time. Default 64. */
  readonly maxConnecting?: number;
}

export interface SessionPoolModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly dialer: RpcDialer;
  readonly listener: SessionListener;
  readonly logger: Logger;
  /** See `WorkerSessionModules`. */
  readonly frontendId?: string | undefined;
  readonly refusals: StreamRefusals;
}

interface KeptSession {
  readonly session: WorkerSession;
  /** As discovery wrote it, which may be another spelling of the session's. */
  readonly address: string;
  readonly identity: string | undefined;
}

/** One session for each worker that discovery lists. */
export class SessionPool {
  /** By target. */
  readonly #sessions = new Map<string, KeptSession>();
  readonly #modules: WorkerSessionModules;
  #isClosed = false;

  constructor(options: SessionPoolOptions, modules: SessionPoolModules) {
    const { clock } = modules;
    this.#modules = {
      ...modules,
      gate: new ConnectGate(options, { clock }),
      silence: new SilenceWatch({ clock }),
      unreachable: { connect: new Set(), knock: new Set() },
    };
  }

  /** Sessions that there are. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Sessions whose stream is open. */
  get watching(): number {
    return this.#modules.silence.size;
  }

  /**
   * Takes discovery's full list: new workers get a session, workers that are
   * gone lose theirs, and one whose address changed, or that is another one
   * under its name, gets another. To be called
   * after the listener knows the list. A session that is kept is not disturbed.
   */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    if (this.#isClosed) return;
    const wanted = new Map<string, Endpoint & { readonly address: string }>();
    for (const endpoint of endpoints) {
      const { target, address } = endpoint;
      if (address !== undefined) wanted.set(target, { ...endpoint, address });
    }
    for (const [target, { address, identity, session }] of this.#sessions) {
      const its = wanted.get(target);
      if (its?.address === address && !isOtherIdentity(identity, its.identity)) continue;
      session.close();
      this.#sessions.delete(target);
    }
    for (const endpoint of wanted.values()) {
      if (!this.#sessions.has(endpoint.target)) this.#open(endpoint);
    }
  }

  /** Ends all sessions. */
  close(): void {
    this.#isClosed = true;
    for (const { session } of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  #open({ target, address: text, identity }: Endpoint & { readonly address: string }): void {
    try {
      const address = parseWorkerAddress(text);
      const session = new WorkerSession({ target, address }, this.#modules);
      this.#sessions.set(target, { address: text, identity, session });
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error;
      this.#modules.listener.onBroken(target, error.message);
    }
  }
}
