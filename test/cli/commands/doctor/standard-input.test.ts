import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OpenThings } from '../../../support/open-things.js';
import { Program, requireBuild } from '../../../support/program.js';

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: { name: vllm }
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args: ["--model", "Qwen/Qwen3-0.6B", "--block-size", "48"]
`;
const PAGE = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 1.0\n';
const LOG = 'INFO 07-08 11:49:03 [engine.py:458] hello\n';

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

function start(args: readonly string[]): Program {
  const program = new Program(['doctor', ...args]);
  open.add(async () => void program.child.kill('SIGKILL'));
  return program;
}

describe('what is piped into the doctor', () => {
  it.each([
    ['manifests', DEPLOYMENT, ['-']],
    ['metrics', PAGE, ['-']],
    ['metrics', PAGE, ['--metrics', '-']],
    ['log', LOG, ['-']],
  ])('is read as %s', async (kind, text, args) => {
    const program = start([...args, '--json']);
    program.child.stdin?.end(text);
    await once(program.child, 'close');
    const { sources } = JSON.parse(program.stdout).evidence;
    expect(sources).toEqual([expect.objectContaining({ kind, status: 'read' })]);
  });
});
