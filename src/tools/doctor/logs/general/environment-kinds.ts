import { NOT_CONNECTED, NOT_RESOLVED } from './failed-connections.js';

/** What the surroundings of a program lack or refuse: its host, its network, its credentials. */
export type EnvironmentKind =
  | 'unresolved'
  | 'certificate'
  | 'credentials'
  | 'unreachable'
  | 'permission'
  | 'threads'
  | 'no_ipv6'
  | 'bad_file'
  | 'no_file';

/** In the words of C, Python, Go, Rust and the clients of stores. The first that fits counts. */
export const ENVIRONMENT_KINDS: readonly (readonly [EnvironmentKind, RegExp])[] = [
  ['unresolved', NOT_RESOLVED],
  [
    'certificate',
    /CERTIFICATE_VERIFY_FAILED|certificate verify failed|self[- ]signed certificate|certificate has expired|x509: |invalid peer certificate|SSL: WRONG_VERSION_NUMBER|tls: first record does not look like/i,
  ],
  [
    'credentials',
    /\bAuthenticationError\b|\bNOAUTH\b|\bWRONGPASS\b|\bAccessDenied\b|InvalidAccessKeyId|SignatureDoesNotMatch|NoCredentialsError|Unable to locate credentials|An error occurred \(40[13]\) when calling|StatusCode\.(?:UNAUTHENTICATED|PERMISSION_DENIED)|Authorization Violation|authentication failed/i,
  ],
  ['unreachable', NOT_CONNECTED],
  ['no_ipv6', /Address family (?:for hostname )?not supported|EAFNOSUPPORT/],
  ['permission', /\bPermissionError\b|Permission denied|\[Errno 13\]|EACCES|Read-only file system/i],
  ['threads', /can't start new thread|pthread_create failed|fork: Resource temporarily unavailable/i],
  ['bad_file', /\byaml\.\w{1,30}\.\w{1,30}Error\b|\b(?:Scanner|Parser|Composer)Error: |\bTOMLDecodeError\b/],
  [
    'no_file',
    /FileNotFoundError: \[Errno 2\] No such file or directory: '[^'\n]{1,200}\.(?:json|ini|pem|crt|key|jinja)'/,
  ],
];

const KINDS: ReadonlySet<string> = new Set(ENVIRONMENT_KINDS.map(([kind]) => kind));

/** Whether a kind of error is one of the surroundings of a program. */
export function isOfEnvironment(kind: string): kind is EnvironmentKind {
  return KINDS.has(kind);
}

/** The kind of an error by its sentence; undefined where it is of no surroundings. */
export function environmentKindOf(sentence: string): EnvironmentKind | undefined {
  return ENVIRONMENT_KINDS.find(([, pattern]) => pattern.test(sentence))?.[0];
}
