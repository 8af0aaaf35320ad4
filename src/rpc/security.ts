import { ChannelCredentials, type Metadata, ServerCredentials } from '@grpc/grpc-js';

/** How connections are protected and who may ask. Made by `loadSecurity`; `PLAINTEXT` is the one without any. */
export interface Security {
  readonly transport: 'plaintext' | 'tls';
  /** Whether an operator said that plaintext may leave this machine. */
  readonly allowsPlaintext: boolean;
  serverCredentials(): ServerCredentials;
  channelCredentials(): ChannelCredentials;
  /** What a client sends along with each call; undefined when no token is configured. */
  bearerToken(): string | undefined;
  /** Why a caller may not ask, in words for it; undefined when it may. Constant in time for equal lengths. */
  findCallerProblem(metadata: Metadata, hasVerifiedCertificate: boolean): string | undefined;
  /** Ends the watching of files. */
  close(): void;
}

/** No protection at all: for loopback, or beyond it when an operator insists. */
export function createPlaintextSecurity(options: { readonly allowsPlaintext?: boolean } = {}): Security {
  return {
    transport: 'plaintext',
    allowsPlaintext: options.allowsPlaintext ?? false,
    serverCredentials: () => ServerCredentials.createInsecure(),
    channelCredentials: () => ChannelCredentials.createInsecure(),
    bearerToken: () => undefined,
    findCallerProblem: () => undefined,
    close: () => undefined,
  };
}
