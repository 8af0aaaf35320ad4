import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kube, startKube } from './support/kube.js';
import { PodPlay } from './support/kube-pods.js';
import { kubeconform, writeKubeSchemas } from './support/kube-schemas.js';
import { lacks } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import { Program } from './support/program.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'example/image:1', ports: [{ containerPort: 80 }] }] },
};

describe.skipIf(lacks('kube', 'kubeconform'))('the API server that tests start', () => {
  let kube: Kube;
  beforeAll(async () => {
    kube = await startKube();
  });
  afterAll(() => kube?.stop());

  it('has the version that was asked for, and takes its own kubectl', async () => {
    const { stdout, stderr } = await kube.kubectl(['version', '-o', 'json']);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      clientVersion: { gitVersion: 'v1.35.4' },
      serverVersion: { gitVersion: 'v1.35.4' },
    });
  });

  it('takes a pod in a dry run, and refuses one with an unknown field', async () => {
    const dryRun = ['apply', '--dry-run=server', '-f', '-'];
    expect(await kube.kubectl(dryRun, JSON.stringify(POD))).toMatchObject({
      status: 0,
      stdout: 'pod/pod created (server dry run)\n',
    });
    const refused = await kube.kubectl(dryRun, JSON.stringify({ ...POD, spec: { ...POD.spec, nope: 1 } }));
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain('unknown field "spec.nope"');
  });

  it('describes its kinds well enough to check manifests without it', async () => {
    const schemas = await writeKubeSchemas(kube);
    const check = async (name: string, manifest: object) => {
      const file = join(scratchFolder(), name);
      writeFileSync(file, JSON.stringify(manifest));
      return kubeconform(schemas, [file]);
    };
    expect(await check('right.json', POD)).toMatchObject({ status: 0 });
    const wrong = await check('wrong.json', { ...POD, spec: { ...POD.spec, nope: 1 } });
    expect(wrong.status).toBe(1);
    expect(wrong.stdout).toContain("additional properties 'nope' not allowed");
  });

  it('keeps what it holds when it crashes and starts again', async () => {
    await kube.apply([POD]);
    await kube.crash();
    await kube.startAgain();
    expect(await kube.kubectl(['get', 'pod', 'pod', '-o', 'name'])).toMatchObject({ stdout: 'pod/pod\n' });
  });

  it('shows pods that the test plays as its own EndpointSlice controller sees them', async () => {
    await kube.runControllers(['endpointslice-controller']);
    const pods = await PodPlay.on(kube);
    const worker = { namespace: 'default', name: 'worker-0' };
    await pods.create({ ...worker, labels: { app: 'worker' } });
    await kube.apply([
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'workers', namespace: 'default' },
        spec: { clusterIP: 'None', selector: { app: 'worker' }, ports: [{ port: 50061 }] },
      },
    ]);
    const conditions = ['get', 'endpointslices', '-o', 'jsonpath={.items[*].endpoints[*].conditions}'];
    const become = async (what: string, expected: object): Promise<void> => {
      await until(`the endpoint to be ${what}`, async () => {
        const { stdout } = await kube.kubectl(conditions);
        if (stdout === '') return false;
        const seen = JSON.parse(stdout);
        return JSON.stringify(seen) === JSON.stringify({ ...seen, ...expected });
      });
    };
    expect(await pods.unbound('default')).toContainEqual(worker);
    await pods.run(worker, '198.18.0.7');
    await become('ready', { ready: true, serving: true, terminating: false });
    await pods.setReady(worker, false);
    await become('not ready', { ready: false, serving: false, terminating: false });
    await pods.setReady(worker, true);
    await pods.terminate(worker);
    await become('terminating', { ready: false, serving: true, terminating: true });
    await pods.finish(worker);
    await until('the endpoint to be gone', async () => (await kube.kubectl(conditions)).stdout === '');
  });
});

describe.skipIf(podNetworkMissing() !== undefined)('the pod network that tests start', () => {
  it('has addresses to listen on and to dial, loses what it is asked to lose, and goes with its processes', async () => {
    const network = await PodNetwork.start();
    const server = (address: string) =>
      `require('node:http').createServer((_, answer) => answer.end('${address}')).listen(80, '${address}')`;
    const addresses = [network.address(1), network.address(2_000)];
    const programs = addresses.map(
      (address) =>
        new Program({ name: address, command: network.inside([process.execPath, '-e', server(address)]) }),
    );
    const ask = async (address: string): Promise<string> =>
      (await fetch(`http://${address}`, { signal: AbortSignal.timeout(1_000) })).text();
    for (const address of addresses) {
      expect(await until(`an answer of ${address}`, () => ask(address), { needs: programs })).toBe(address);
    }
    const [first = '', second = ''] = addresses;
    await network.lose(first);
    await expect(ask(first)).rejects.toThrow('due to timeout');
    expect(await ask(second)).toBe(second);
    await network.find(first);
    expect(await until('an answer again', () => ask(first))).toBe(first);

    for (const program of programs) await program.kill();
    await network.stop();
    await until('the route to be gone', async () => {
      const { stdout } = await run('ip', ['route', 'get', first]);
      return !stdout.includes('kva-');
    });
  });
});
