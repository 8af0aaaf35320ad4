import { onTestFinished } from 'vitest';
import { RoutingSidecar } from '../../support/routing-sidecar.js';
import { freePort } from './ports.js';
import { Program } from './program.js';
import { until } from './until.js';

/** The program of llm-d's routing sidecar, where somebody has one: no registry does. */
const PROGRAM = process.env['KV_ACCORD_ROUTING_SIDECAR'];

/**
 * A routing sidecar before a decode engine, until the current test is over: llm-d's own where `KV_ACCORD_ROUTING_SIDECAR` names the
 * program, else one that is played. Comes back with its base URL.
 */
export async function startRoutingSidecar(engineUrl: string): Promise<string> {
  if (PROGRAM === undefined) {
    const played = await RoutingSidecar.start(engineUrl);
    onTestFinished(() => played.stop());
    return played.url;
  }
  const port = await freePort();
  const program = new Program({
    name: 'routing-sidecar',
    command: [
      PROGRAM,
      ...['--port', String(port), '--model-server-port', new URL(engineUrl).port],
      ...['--kv-connector=nixlv2', '--secure-proxy=false'],
    ],
  });
  onTestFinished(() => program.stop().then(() => undefined));
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> => (await fetch(`${url}/health`)).status < 500;
  await until('the routing sidecar to answer', answers, { needs: [program] });
  return url;
}
