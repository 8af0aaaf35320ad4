import { isIP } from 'node:net';
import {
  Channel,
  type ChannelCredentials,
  Client,
  type ClientOptions,
  connectivityState,
  InterceptingCall,
  type Interceptor,
  Metadata,
} from '@grpc/grpc-js';
import { type Address, isLoopback } from '../platform/address.js';
import type { Clock } from '../platform/clock.js';
import { watchDeadline } from '../platform/time/deadline.js';
import type { Security } from '../security/security.js';
import { ConnectError, explainFailure, explainSilence } from './connect-error.js';
import { MAX_MESSAGE_BYTES } from './limits.js';
import { PeerCredentials } from './peer-credentials.js';
import { type TryConnectFailure, tryConnect } from './try-connect.js';

export interface RpcDialerOptions {
  /** Milliseconds until TCP, TLS and HTTP/2 stand. Default 5,000: a lost SYN costs 1 s, two cost 3 s. */
  readonly connectTimeoutMs?: number;
}

export interface RpcDialerModules {
  readonly clock: Clock;
  readonly security: Security;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** A client class that ts-proto generated. */
export type ClientConstructor<T> = new (
  address: string,
  credentials: ChannelCredentials,
  options?: Partial<ClientOptions>,
) => T;

/** Makes channels to peers, all with the same security. */
export class RpcDialer {
  readonly #connectTimeoutMs: number;
  readonly #modules: RpcDialerModules;

  constructor(options: RpcDialerOptions, modules: RpcDialerModules) {
    this.#connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.#modules = modules;
  }

  /**
   * A channel to `address`; it connects when it is first waited for or used.
   * Throws a `ConnectError` `plaintext_refused` where plaintext would leave
   * this machine and no setting allows it.
   */
  dial(address: Address): RpcChannel {
    const { security } = this.#modules;
    if (security.transport === 'plaintext' && !security.allowsPlaintext && !isLoopback(address)) {
      throw new ConnectError(
        'plaintext_refused',
        address.text,
        'plaintext beyond this machine has to be said: set --tls-ca (and --tls-cert, --tls-key), or --insecure',
      );
    }
    return new RpcChannel({ address, connectTimeoutMs: this.#connectTimeoutMs }, this.#modules);
  }

  /** See `tryConnect`; only where `canTryConnect`. */
  tryConnect(address: Address, onResult: (failure: TryConnectFailure | undefined) => void): () => void {
    return tryConnect(address, this.#modules.security.transport, onResult, this.#modules);
  }
}

/**
 * One channel to one peer. It is closed by the part that dialled it, also after a
 * failure: to try again is to dial again, at a pace of the caller's own.
 */
export class RpcChannel {
  readonly address: Address;
  /** grpc-js's channel, for `channelOverride`. */
  readonly channel: Channel;
  readonly #credentials: PeerCredentials;
  readonly #connectTimeoutMs: number;
  readonly #modules: RpcDialerModules;
  #isClosed = false;

  constructor(
    options: { readonly address: Address; readonly connectTimeoutMs: number },
    modules: RpcDialerModules,
  ) {
    this.address = options.address;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#modules = modules;
    const { address } = options;
    const { security } = modules;
    this.#credentials = new PeerCredentials({
      expectedHost: security.serverName ?? (address.type === 'unix' ? 'localhost' : address.host),
      secureContext: () => security.secureContext(),
    });
    this.channel = new Channel(targetOf(address), this.#credentials, {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      // A pool of its own, so that closing this channel closes its connection and no one else's.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      // Sessions retry by themselves; grpc-js would buffer every request for it.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      // Peers are in the cluster; the proxy in a pod's environment is for the world outside.
      'grpc.enable_http_proxy': 0,
      // No pings of ours: C-core servers end connections that ping more often than every five minutes.
    });
  }

  /** Sockets that this channel holds open now. */
  get openSockets(): number {
    return this.#credentials.openSockets;
  }

  /** A client of a generated class on this channel; its calls carry the token, when there is one. */
  createClient<T>(Constructor: ClientConstructor<T>): T {
    return new Constructor(this.address.text, this.#credentials, {
      channelOverride: this.channel,
      interceptors: this.#interceptors(),
    });
  }

  /**
   * Resolves when HTTP/2 stands. Rejects with a `ConnectError` that says what
   * is wrong (the channel is closed then), or with `signal.reason`.
   */
  async waitForReady(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    try {
      await this.#connect(signal);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Closes the connection immediately; calls that are open end with an error. May be called again. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.channel.close();
    this.#credentials.destroySockets();
  }

  #connect(signal: AbortSignal | undefined): Promise<void> {
    const attempt = { address: this.address.text, transport: this.#modules.security.transport };
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (finish: () => void): void => {
        if (isSettled) return;
        isSettled = true;
        stopWatching();
        finish();
      };
      const waitedMs = this.#connectTimeoutMs;
      const stopWatching = watchDeadline({ timeoutMs: waitedMs, signal }, this.#modules, (why) => {
        const { phase } = this.#credentials;
        settle(() =>
          reject(why === 'aborted' ? signal?.reason : explainSilence({ ...attempt, phase, waitedMs })),
        );
      });
      const look = (): void => {
        if (isSettled) return;
        if (this.#isClosed) {
          const error = new ConnectError('closed', this.address.text, 'the channel was closed');
          settle(() => reject(error));
          return;
        }
        const state = this.channel.getConnectivityState(true);
        if (state === connectivityState.READY) {
          settle(resolve);
          return;
        }
        if (state === connectivityState.TRANSIENT_FAILURE) {
          this.#readLastError((details) => {
            const { phase } = this.#credentials;
            settle(() => reject(explainFailure({ ...attempt, phase, details })));
          });
          return;
        }
        this.channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
      };
      look();
    });
  }

  /**
   * A channel in TRANSIENT_FAILURE keeps the reason to itself, and gives it to
   * the calls that it refuses: so one is made. It goes nowhere.
   */
  #readLastError(onReason: (details: string) => void): void {
    const client = new Client(this.address.text, this.#credentials, { channelOverride: this.channel });
    const none = (): Buffer => Buffer.alloc(0);
    client.makeUnaryRequest('/grpc.health.v1.Health/Check', none, none, {}, new Metadata(), {}, (error) =>
      onReason(error?.details ?? 'the connection failed'),
    );
  }

  #interceptors(): Interceptor[] {
    const { security } = this.#modules;
    return [
      (options, nextCall) =>
        new InterceptingCall(nextCall(options), {
          start: (metadata, listener, next) => {
            const token = security.bearerToken();
            const outgoing = token === undefined ? metadata : metadata.clone();
            if (token !== undefined) outgoing.set('authorization', `Bearer ${token}`);
            next(outgoing, listener);
          },
        }),
    ];
  }
}

/**
 * The address as grpc-js takes it. IP addresses are named as such: `dns:` would
 * give each channel a DNS resolver of its own, a tenth of what connecting costs.
 */
function targetOf(address: Address): string {
  if (address.type === 'unix') return `unix:${address.path}`;
  const family = isIP(address.host);
  return `${family === 0 ? 'dns' : `ipv${family}`}:${address.text}`;
}
