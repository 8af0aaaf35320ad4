import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { freePort } from '../support/ports.js';
import { forThisTest } from './support/for-this-test.js';
import { probe } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { reportThat } from './support/report.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/production-tree.mjs', import.meta.url));

/** Sends one message from a socket to another, over the native library. */
const THROUGH_ZEROMQ = `
  const { Pull, Push, version } = await import('zeromq');
  const pull = new Pull();
  await pull.bind('tcp://127.0.0.1:*');
  const push = new Push();
  push.connect(pull.lastEndpoint);
  await push.send('on ' + process.arch);
  console.log(version, String((await pull.receive())[0]));
  process.exit();`;

describe.skipIf(lacks('image-tools', 'grpcurl'))(
  'what the image for arm64 gets, on an emulated processor',
  () => {
    const tree = join(scratchFolder(), 'tree');
    const node = peerPath('image-tools', 'arm64', 'node');
    const main = join(tree, 'dist', 'cli', 'main.js');

    beforeAll(() => {
      const script = ['--experimental-import-meta-resolve', SCRIPT, tree, '--arch', 'arm64'];
      execFileSync(process.execPath, script, { stdio: ['ignore', 'ignore', 'pipe'] });
    });

    it('loads the library for ZeroMQ with the libraries of Debian 12', async () => {
      const { stdout } = await run('env', [
        ...['--chdir', tree, node, '--input-type=module', '--eval', THROUGH_ZEROMQ],
      ]);
      expect(stdout).toMatch(/^4\.\d+\.\d+ on arm64\n$/);
    });

    it('reports as a sidecar, and ends when it is asked to', async () => {
      expect(await run(node, [main, '--version'])).toMatchObject({
        status: 0,
        stdout: `${manifest.version}\n`,
      });
      const [grpcPort, httpPort] = [await freePort(), await freePort()];
      const program = forThisTest(
        new Program({
          name: 'sidecar-arm64',
          command: [
            ...[node, main, 'sidecar', '--engine', 'none', '--tokens-per-block', '32', '--model', 'm'],
            ...['--listen', `127.0.0.1:${grpcPort}`, '--http-listen', `127.0.0.1:${httpPort}`],
          ],
        }),
      );
      const sidecar = { program, grpcPort, httpPort };
      await until('the sidecar to answer', async () => (await probe(sidecar, '/livez')).status === 200, {
        needs: [program],
        timeoutMs: 180_000, // an emulated processor is slow
      });
      await reportThat(sidecar, 'with the declared size', ({ contract }) => contract?.tokensPerBlock === 32);
      expect(await program.stop()).toBe(0);
    });
  },
);
