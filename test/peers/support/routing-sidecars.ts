import { freePort } from '../../support/ports.js';
import { RoutingSidecar } from '../../support/routing-sidecar.js';
import { Program } from './program.js';
import { until } from './until.js';

/** The program of llm-d's routing sidecar, where somebody has one: no registry does. */
const PROGRAM = process.env['KV_ACCORD_ROUTING_SIDECAR'];

/** A routing sidecar that serves. */
export interface StartedRoutingSidecar {
  /** Its base URL. */
  readonly url: string;
  stop(): Promise<unknown>;
}

/** A routing sidecar before a decode engine: llm-d's own where `KV_ACCORD_ROUTING_SIDECAR` names the program, else a stand-in. */
export async function startRoutingSidecar(engineUrl: string): Promise<StartedRoutingSidecar> {
  if (PROGRAM === undefined) {
    const played = await RoutingSidecar.start(engineUrl);
    return { url: played.url, stop: () => played.stop() };
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
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> => (await fetch(`${url}/health`)).status > 0;
  try {
    await until('the routing sidecar to answer', answers, { needs: [program] });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { url, stop: () => program.stop() };
}
