import type { Stage } from './stage.js';

/** Something to try with a fleet that was left running. */
export interface Invitation {
  readonly says: string;
  readonly line: string;
}

/** What can be done with a fleet that was left running, as lines for a shell or a browser. */
export function inviteTo(stage: Stage): Invitation[] {
  const { addresses, frontends, workers } = stage;
  const [worker] = workers;
  const [frontend] = frontends;
  if (addresses === undefined) return [];
  const grpc = addresses.grpc.text;
  const http = `http://${addresses.http.text}`;
  const lines: Invitation[] = [
    ...(frontend === undefined || worker === undefined
      ? []
      : [askLine(frontend.url, worker.engine.setup.model)]),
    { says: 'the status page, for a browser', line: `${http}/` },
    { says: 'the fleet as a table', line: `kv-accord status ${grpc}` },
    { says: 'hosts, GPUs and links', line: `kv-accord status --topology ${grpc}` },
    { says: 'what it does now, and what happened', line: `kv-accord top ${grpc}` },
    { says: 'who holds how many blocks', line: `kv-accord status --index ${grpc}` },
    { says: 'what was agreed', line: `grpcurl -plaintext ${grpc} kvaccord.v1.Fleet/GetAgreement` },
    { says: 'whether the gate is open, and why', line: `curl '${http}/readyz?verbose'` },
    { says: 'the metrics', line: `curl ${http}/metrics` },
  ];
  if (worker?.addresses === undefined) return lines;
  const sidecar = worker.addresses.grpc.text;
  return [
    ...lines,
    {
      says: `what the sidecar of ${worker.name} reports`,
      line: `grpcurl -plaintext ${sidecar} kvaccord.v1.Capabilities/GetCapabilities`,
    },
    { says: `what the engine of ${worker.name} says`, line: `curl ${worker.engine.url}/metrics` },
  ];
}

/** Short enough to stay on one line. */
function askLine(url: string, model: string): Invitation {
  const body = JSON.stringify({ model, prompt: 'Hello!' });
  return {
    says: "an answer over OpenAI's API; its headers name the worker",
    line: `curl -i ${url}/v1/completions --json '${body}'`,
  };
}
