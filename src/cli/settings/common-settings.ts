import type { SettingError } from '../../app/setting-error.js';
import { type Address, isLoopback } from '../../edge/platform/address.js';
import type { SettingsOf } from './setting.js';

/** The settings that every command has. */
export const commonSettings = {
  config: {
    kind: 'file',
    mustBe: 'file',
    group: 'Configuration',
    help: 'YAML file with the same names as the flags, one "name: value" a line.',
    inConfigFile: false,
  },
  'print-config': {
    kind: 'boolean',
    group: 'Configuration',
    help: 'Print every setting with where it came from, and end.',
    inConfigFile: false,
  },
  json: {
    kind: 'boolean',
    group: 'Configuration',
    help: 'Print data as JSON, for programs.',
  },
  'log-level': {
    kind: 'enum',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    group: 'Log',
    help: 'Lines below this level are left out.',
  },
  'log-format': {
    kind: 'enum',
    choices: ['auto', 'pretty', 'json'],
    default: 'auto',
    group: 'Log',
    help: 'auto is pretty on a terminal and JSON lines everywhere else.',
  },
  'tls-cert': {
    kind: 'file',
    mustBe: 'file',
    group: 'Security',
    help: "This process's certificate chain, PEM. Read again when it changes.",
  },
  'tls-key': {
    kind: 'file',
    mustBe: 'file',
    group: 'Security',
    help: 'The private key of --tls-cert, PEM.',
  },
  'tls-ca': {
    kind: 'file',
    mustBe: 'file',
    group: 'Security',
    help: "Certificate authorities that must have signed the other side's certificate, PEM.",
  },
  'tls-server-name': {
    kind: 'string',
    maxLength: 253,
    group: 'Security',
    help: "The name that servers' certificates must have, where servers are dialled by changing addresses.",
    defaultHelp: 'the host that is dialled',
  },
  'tls-client-auth': {
    kind: 'enum',
    choices: ['none', 'request', 'require'],
    default: 'none',
    group: 'Security',
    help: 'Whether callers must show a certificate that an authority of --tls-ca signed.',
  },
  'token-file': {
    kind: 'file',
    mustBe: 'file',
    holdsSecret: true,
    group: 'Security',
    help: 'File with the bearer token that callers must show, and that this process shows.',
  },
  insecure: {
    kind: 'boolean',
    group: 'Security',
    help: 'Allow plaintext beyond this machine. Anyone on the network can then read it and impersonate either side.',
  },
} as const;

/** What only a process reads that others call. */
export const OF_SERVERS: readonly (keyof typeof commonSettings)[] = ['tls-client-auth'];

/** What only a process reads that talks to other parts of the product. */
export const OF_PEERS: readonly (keyof typeof commonSettings)[] = [
  ...OF_SERVERS,
  'tls-cert',
  'tls-key',
  'tls-ca',
  'tls-server-name',
  'token-file',
];

type Common = SettingsOf<typeof commonSettings>;
type Reject<Name extends string> = (name: Name, allowed: string, value?: string) => SettingError;

/** Checks that the TLS settings make sense together. */
export function checkTls(settings: Common, reject: Reject<keyof typeof commonSettings>): void {
  const { tlsCert, tlsKey, tlsCa, tlsClientAuth, tlsServerName, insecure } = settings;
  if (tlsCert !== undefined && tlsKey === undefined)
    throw reject('tls-key', 'given together with --tls-cert');
  if (tlsKey !== undefined && tlsCert === undefined)
    throw reject('tls-cert', 'given together with --tls-key');
  const isTls = tlsCert !== undefined || tlsCa !== undefined;
  if (insecure && isTls) throw reject('insecure', 'left out while --tls-cert or --tls-ca says TLS', 'true');
  if (tlsServerName !== undefined && !isTls)
    throw reject('tls-server-name', 'left out while there is no --tls-ca');
  if (tlsClientAuth === 'none') return;
  if (tlsCert === undefined) throw reject('tls-client-auth', 'none while there is no --tls-cert');
  if (tlsCa === undefined)
    throw reject('tls-client-auth', 'none while there is no --tls-ca to judge callers by');
}

/** What a command that listens has in addition to the common settings. */
interface Listening extends Common {
  readonly listen: Address;
  readonly httpListen: Address;
}

/**
 * Checks that what a process serves is safe where it serves it: beyond this
 * machine only with TLS, or when the operator says that it may be plaintext.
 */
export function checkListen(settings: Listening, reject: Reject<'listen' | 'http-listen'>): void {
  if (settings.tlsCert !== undefined || settings.insecure) return;
  const allowed =
    'a loopback address, unless there is --tls-cert with --tls-key, or --insecure for plaintext';
  if (!isLoopback(settings.listen)) throw reject('listen', allowed);
  if (!isLoopback(settings.httpListen)) throw reject('http-listen', allowed);
}
