import { type Metadata, ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import type { Security } from '../security/security.js';
import type { Connections } from './connections.js';
import { RpcError, type RpcErrorCode, toStatus } from './errors.js';
import type { RpcLimits } from './limits.js';

/** Paths of the health service: open to everybody, also while draining, for kubelets carry no token. */
const HEALTH_PREFIX = '/grpc.health.v1.Health/';

/** What admission looks at. */
export interface AdmissionModules {
  readonly security: Security;
  readonly connections: Connections;
  readonly isDraining: () => boolean;
}

/** Why calls were refused, each code with its count. */
export type RefusalCounts = ReadonlyMap<RpcErrorCode, number>;

/**
 * Decides over every call before its handler sees it and before its message is
 * read: is it small enough, may the caller ask at all, is there room.
 */
export class Admission {
  readonly interceptor: ServerInterceptor;
  readonly #limits: RpcLimits;
  readonly #modules: AdmissionModules;
  readonly #refusals = new Map<RpcErrorCode, number>();
  #openCalls = 0;

  constructor(options: { readonly limits: RpcLimits }, modules: AdmissionModules) {
    this.#limits = options.limits;
    this.#modules = modules;
    this.interceptor = (method, nextCall) =>
      new ServerInterceptingCall(nextCall, {
        start: (next) => {
          const account = this.#account(nextCall);
          next({
            onReceiveMetadata: (metadata, proceed) => {
              // Where no certificates are asked for there are none, and looking for one takes as long as all else here.
              const isCertified =
                modules.security.clientAuth !== 'none' &&
                nextCall.getAuthContext().sslPeerCertificate !== undefined;
              const refusal = this.#findRefusal(method.path, metadata, isCertified, account.connection);
              if (refusal === undefined) {
                account.open();
                proceed(metadata);
              } else {
                this.#refusals.set(refusal.code, (this.#refusals.get(refusal.code) ?? 0) + 1);
                nextCall.sendStatus(toStatus(refusal));
              }
            },
            onCancel: () => account.close(),
          });
        },
      });
  }

  /** Calls that are open now. */
  get openCalls(): number {
    return this.#openCalls;
  }

  get refusals(): RefusalCounts {
    return this.#refusals;
  }

  #account(call: {
    getConnectionInfo(): { remoteAddress?: string | undefined; remotePort?: number | undefined };
  }) {
    const { remoteAddress, remotePort } = call.getConnectionInfo();
    const connection = this.#modules.connections.find(remoteAddress, remotePort);
    let isOpen = false;
    return {
      connection,
      open: () => {
        isOpen = true;
        connection.openCalls += 1;
        this.#openCalls += 1;
      },
      // grpc-js calls this once at the end of every call, however it ended.
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        connection.openCalls -= 1;
        this.#openCalls -= 1;
      },
    };
  }

  #findRefusal(
    path: string,
    metadata: Metadata,
    isCertified: boolean,
    connection: { readonly openCalls: number; readonly rate: { tryTake(): boolean } },
  ): RpcError | undefined {
    const { maxMetadataBytes, maxOpenCallsPerConnection, maxOpenCalls, maxCallsPerSecondPerConnection } =
      this.#limits;
    const isHealth = path.startsWith(HEALTH_PREFIX);
    if (!connection.rate.tryTake()) {
      const most = `at most ${maxCallsPerSecondPerConnection} calls per second on a connection`;
      return new RpcError('calls_too_fast', `calls come too fast: ${most}`);
    }
    const sizeBytes = metadataSize(metadata);
    if (sizeBytes > maxMetadataBytes) {
      return new RpcError(
        'metadata_too_large',
        `the call's metadata has ${sizeBytes} bytes, at most ${maxMetadataBytes} are taken`,
      );
    }
    if (!isHealth) {
      const problem = this.#modules.security.findCallerProblem(authorizationOf(metadata), isCertified);
      if (problem !== undefined) return new RpcError('unauthenticated', problem);
      if (this.#modules.isDraining()) return new RpcError('draining', 'the server is shutting down');
    }
    if (connection.openCalls >= maxOpenCallsPerConnection) {
      return new RpcError(
        'too_many_calls_on_connection',
        `${connection.openCalls} calls are open on this connection, at most ${maxOpenCallsPerConnection} may be`,
      );
    }
    if (this.#openCalls >= maxOpenCalls) {
      return new RpcError(
        'too_many_calls',
        `${this.#openCalls} calls are open on this server, at most ${maxOpenCalls} may be`,
      );
    }
    return undefined;
  }
}

/** What the call shows; several values are joined, which no server takes for a token. */
function authorizationOf(metadata: Metadata): string | undefined {
  const values = metadata.get('authorization');
  return values.length === 0 ? undefined : values.join(', ');
}

function metadataSize(metadata: Metadata): number {
  let sizeBytes = 0;
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) sizeBytes += name.length + value.length;
  }
  return sizeBytes;
}
