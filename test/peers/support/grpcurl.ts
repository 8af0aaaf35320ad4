import { peerPath } from './peers.js';
import { type Outcome, run } from './run.js';

/** Runs grpcurl against a plaintext server on the loopback, with no proto files: the server's reflection has to do. */
export function grpcurl(port: number, ...args: readonly string[]): Promise<Outcome> {
  const options = args.filter((arg) => arg.startsWith('-'));
  const words = args.filter((arg) => !arg.startsWith('-'));
  return run(peerPath('grpcurl'), [
    '-plaintext',
    '-max-time',
    '20',
    ...options,
    `127.0.0.1:${port}`,
    ...words,
  ]);
}

/** Calls one method without arguments and reads the answer. */
export async function call<Answer>(port: number, method: string): Promise<Answer> {
  const { status, stdout, stderr } = await grpcurl(port, method);
  if (status !== 0) throw new Error(`grpcurl ${method}: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

/** What the standard health service says of one of the server's services; `''` is the process. */
export async function health(port: number, service: string): Promise<string> {
  const request = JSON.stringify({ service });
  const { stdout, stderr } = await grpcurl(port, `-d=${request}`, 'grpc.health.v1.Health/Check');
  return /"status": "(\w+)"/.exec(stdout)?.[1] ?? stderr.trim();
}
