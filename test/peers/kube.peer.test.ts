import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kube, startKube } from './support/kube.js';
import { kubeconform, writeKubeSchemas } from './support/kube-schemas.js';
import { lacks } from './support/peers.js';
import { scratchFolder } from './support/scratch.js';

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
});
