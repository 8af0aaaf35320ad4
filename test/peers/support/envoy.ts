import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EnvoyOptions, envoyConfigOf } from '../../support/envoy-config.js';
import { freePort } from '../../support/ports.js';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** An Envoy that serves. */
export interface Envoy {
  readonly program: Program;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** `http://127.0.0.1:PORT` of its administration. */
  readonly adminUrl: string;
}

/** Starts an Envoy as gateways configure it for an Endpoint Picker, and waits until it serves. */
export async function startEnvoy(name: string, options: EnvoyOptions): Promise<Envoy> {
  const port = await freePort();
  const adminPort = await freePort();
  const file = join(scratchFolder(), `${name}.json`);
  writeFileSync(file, JSON.stringify(envoyConfigOf(options, port, adminPort)));
  const program = new Program({
    name,
    command: [
      peerPath('envoy', 'bin', 'envoy'),
      ...['-c', file, '--use-dynamic-base-id', '--concurrency', String(options.concurrency ?? 1)],
      ...['--log-level', 'warning'],
    ],
  });
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  try {
    await until(`${name} to serve`, async () => (await fetch(`${adminUrl}/ready`)).status === 200, {
      timeoutMs: 60_000,
      needs: [program],
    });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, url: `http://127.0.0.1:${port}`, adminUrl };
}
