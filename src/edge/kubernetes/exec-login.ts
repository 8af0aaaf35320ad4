import { onOneLine } from '../../core/text/printable.js';
import type { Clock } from '../platform/clock.js';
import { parseJson } from '../platform/data/bounded-json.js';
import type { Environment } from '../platform/processes/environment.js';
import type { RunProgram } from '../platform/processes/run-program.js';
import { KubernetesError } from './kubernetes-error.js';
import { type Credentials, checkedToken, type Login } from './login.js';
import { textAt, valueAt } from './read-json.js';

/** A credential plugin as a kubeconfig names it: `users[].user.exec`. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Environment;
  /** What the configuration says to people who do not have the program. */
  readonly installHint: string | undefined;
  /** What the program is given of the cluster where it asks for that. */
  readonly cluster: unknown;
  /** Where it is named, for messages. */
  readonly from: string;
}

/** The versions of the protocol between clients and credential plugins. */
export const EXEC_API_VERSIONS: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
];

/** Longer than a cloud's command line takes to ask for a token; shorter than a person waits without a word. */
const PLUGIN_TIMEOUT_MS = 30_000;

/** Largest answer: a token and a certificate chain have some KiB. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Credentials are asked again so long before they expire, but never before nine tenths of their life. */
const EARLY_MS = 60_000;

interface KeptCredentials {
  readonly credentials: Credentials;
  /** Monotonic; undefined when they do not expire. */
  readonly renewAtMs: number | undefined;
}

/** Credentials that a program gives, kept until they expire or are refused. */
export class ExecLogin implements Login {
  readonly from: string;
  readonly #plugin: ExecPlugin;
  readonly #modules: { readonly clock: Clock; readonly runProgram: RunProgram };
  #kept: KeptCredentials | undefined;
  #running: Promise<KeptCredentials> | undefined;
  readonly #end = new AbortController();

  constructor(plugin: ExecPlugin, modules: { readonly clock: Clock; readonly runProgram: RunProgram }) {
    this.from = `the program "${plugin.command}" (${plugin.from})`;
    this.#plugin = plugin;
    this.#modules = modules;
  }

  async credentials(): Promise<Credentials> {
    const renewAtMs = this.#kept?.renewAtMs;
    if (renewAtMs !== undefined && this.#modules.clock.monotonicMs() >= renewAtMs) this.#kept = undefined;
    if (this.#kept === undefined) {
      // Several requests together run the program once.
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
      this.#kept = await this.#running;
    }
    return this.#kept.credentials;
  }

  refused(): void {
    this.#kept = undefined;
  }

  close(): void {
    this.#end.abort();
  }

  async #run(): Promise<KeptCredentials> {
    const { apiVersion, command, args, environment, installHint, cluster } = this.#plugin;
    const info = {
      kind: 'ExecCredential',
      apiVersion,
      spec: { interactive: false, ...(cluster === undefined ? {} : { cluster }) },
    };
    const { output, errors, problem } = await this.#modules.runProgram(command, args, {
      environment: { ...environment, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeoutMs: PLUGIN_TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      signal: this.#end.signal,
    });
    if (problem !== undefined) {
      const said = errors.trim() === '' ? '' : `; it says: ${onOneLine(errors, 300)}`;
      const hint = installHint === undefined ? '' : `; ${onOneLine(installHint, 300)}`;
      throw this.#fault(`gives no credentials: ${problem}${said}${hint}`);
    }
    return this.#read(output);
  }

  #read(output: string): KeptCredentials {
    let answer: unknown;
    try {
      answer = parseJson(output);
    } catch {
      // The parser's own message would repeat a part of what was written.
      throw this.#fault('gives no credentials: what it writes is no JSON');
    }
    const { apiVersion } = this.#plugin;
    if (textAt(answer, 'kind') !== 'ExecCredential' || textAt(answer, 'apiVersion') !== apiVersion)
      throw this.#fault(`gives no credentials: it must write an ExecCredential of ${apiVersion}`);
    const status = valueAt(answer, 'status');
    const token = textAt(status, 'token');
    const certificate = textAt(status, 'clientCertificateData');
    const key = textAt(status, 'clientKeyData');
    if (token === undefined && (certificate === undefined || key === undefined))
      throw this.#fault(
        'gives no credentials: its status has neither a token nor clientCertificateData with clientKeyData',
      );
    return {
      credentials: {
        ...(token === undefined ? {} : { token: checkedToken(token, this.from) }),
        ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
      },
      renewAtMs: this.#renewAtMs(textAt(status, 'expirationTimestamp')),
    };
  }

  #renewAtMs(expiration: string | undefined): number | undefined {
    if (expiration === undefined) return undefined;
    const { clock } = this.#modules;
    const lifeMs = Date.parse(expiration) - clock.wallMs();
    if (Number.isNaN(lifeMs)) throw this.#fault('gives an expirationTimestamp that is no time');
    return clock.monotonicMs() + Math.max(lifeMs - EARLY_MS, lifeMs * 0.9);
  }

  #fault(problem: string): KubernetesError {
    return new KubernetesError('no_configuration', `${this.from} ${problem}`);
  }
}
