import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { documentedRights } from './support/documented-rights.js';
import { forThisTest } from './support/for-this-test.js';
import { type Kube, startKube } from './support/kube.js';
import { membersOf, ServiceAccount, startPodSidecar } from './support/kube-fleet.js';
import {
  type LogLine,
  logLines,
  probe,
  type Served,
  startAggregatorWith,
  startKvAccord,
} from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import type { Program } from './support/program.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const TARGET = `k8s://${NAMESPACE}/workers:50061`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const RIGHTS = documentedRights('k8s://NAMESPACE/SERVICE');

describe.skipIf(lacks('kube', 'grpcurl') || podNetworkMissing() !== undefined)(
  'a failing cluster, with a real API server',
  () => {
    let kube: Kube;
    let network: PodNetwork;
    let account: ServiceAccount;
    /** Two workers, which run all the time. */
    const sidecars: Program[] = [];

    beforeAll(async () => {
      network = await PodNetwork.start();
      kube = await startKube();
      for (const pod of [1, 2]) sidecars.push(await startPodSidecar(network, network.address(pod)));
      expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
      account = await ServiceAccount.make(kube, NAMESPACE, 'frontend');
    });
    afterEach(async () => {
      kube.thaw();
      // What one test has broken is nothing to the next.
      if (kube.programs.some(({ status }) => status !== undefined)) await kube.startAgain();
    });
    afterAll(async () => {
      for (const sidecar of sidecars) await sidecar.kill();
      await kube?.stop();
      await network?.stop();
    });

    /** Lists these workers behind the Service, as an EndpointSlice controller would. */
    async function list(...workers: readonly number[]): Promise<void> {
      await kube.apply([
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            name: 'workers-1',
            namespace: NAMESPACE,
            labels: { 'kubernetes.io/service-name': 'workers' },
          },
          addressType: 'IPv4',
          ports: [{ name: 'sidecar', port: 50061, protocol: 'TCP' }],
          endpoints: workers.map((worker) => ({
            addresses: [network.address(worker)],
            conditions: { ready: true, serving: true, terminating: false },
            targetRef: { kind: 'Pod', name: `worker-${worker}`, namespace: NAMESPACE },
          })),
        },
      ]);
    }

    async function aggregator(
      target = TARGET,
      { kubeconfig = account.kubeconfig, flags: more = [] as readonly string[] } = {},
    ): Promise<Served> {
      const known = ['--workers', target, '--kubeconfig', kubeconfig];
      const flags = ['--insecure', '--settle', '500ms', ...known, ...more];
      return forThisTest(await startAggregatorWith('aggregator', flags));
    }

    /** Waits until these workers, and no others, are in the fleet and conform. */
    async function follows(served: Served, ...workers: readonly number[]): Promise<void> {
      const expected = Object.fromEntries(workers.map((worker) => [`worker-${worker}`, 'conforming']));
      await until(
        `the members to be ${JSON.stringify(expected)}`,
        async () => {
          expect(await membersOf(served)).toEqual(expected);
          return true;
        },
        { needs: [served.program] },
      );
    }

    /** The first line from `after` on that is at least a warning and says all of these words. */
    function saying(served: Served, words: readonly string[], after = 0): Promise<LogLine> {
      return until(
        `the words ${words.join(', ')}`,
        () =>
          logLines(served.program)
            .slice(after)
            .find(({ level, msg }) => level !== 'info' && words.every((word) => msg.includes(word))),
        { needs: [served.program] },
      );
    }

    /** What it has warned of. */
    function problems(served: Served): string[] {
      return logLines(served.program).flatMap(({ level, msg }) => (level === 'info' ? [] : [msg]));
    }

    /** How many requests of this kind the server has answered to the end since it started. */
    async function requests(verb: 'LIST' | 'WATCH'): Promise<number> {
      const { stdout } = await kube.kubectl(['get', '--raw', '/metrics']);
      const counts = stdout
        .split('\n')
        .filter((line) => line.startsWith('apiserver_request_total{'))
        .filter((line) => line.includes('resource="endpointslices"') && line.includes(`verb="${verb}"`));
      return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    }

    /** What kubectl answers an operator who asks whether the account may do this with EndpointSlices. */
    async function mayDo(verb: string): Promise<string> {
      const question = ['auth', 'can-i', verb, 'endpointslices.discovery.k8s.io', '-n', NAMESPACE];
      return (await kube.kubectl([...question, '--as', account.user])).stdout.trim();
    }

    async function isOpen(served: Served): Promise<boolean> {
      return (await probe(served, '/readyz')).status === 200;
    }

    it('goes on where it was when the server has ended its watch in order', async () => {
      await account.allow(RIGHTS);
      await kube.crash();
      await kube.startAgain(['--shutdown-watch-termination-grace-period=1s']);
      await list(1);
      const served = await aggregator();
      await follows(served, 1);
      await kube.endGently();
      await kube.startAgain();
      await list(1, 2);
      await follows(served, 1, 2);
      expect(await isOpen(served)).toBe(true);
      // A missing server is a problem; a watch that has ended is none.
      expect(problems(served)[0]).toContain('ECONNREFUSED');
    });

    it('keeps the fleet while the server is gone, says so, and goes on when it is back', async () => {
      await account.allow(RIGHTS);
      await list(1, 2);
      const served = await aggregator();
      await follows(served, 1, 2);
      await kube.crash();
      await saying(served, [kube.url, 'cannot be reached']);
      expect(await isOpen(served)).toBe(true);
      await follows(served, 1, 2);
      await kube.startAgain();
      await list(2);
      await follows(served, 2);
      expect(logLines(served.program).at(-1)?.msg).toBe(
        `Discovery: ${TARGET}: the cluster is followed again`,
      );
    });

    it('lists again when the server has forgotten where it was (410), and loses no pod and keeps no pod that is gone', async () => {
      await account.allow(RIGHTS);
      await kube.crash();
      const forgetful = ['--watch-cache=false', '--etcd-compaction-interval=1s'];
      await kube.startAgain(forgetful);
      await list(1);
      const served = await aggregator();
      await follows(served, 1);
      const { metadata } = await kube.ask<{ metadata: { resourceVersion: string } }>('GET', SLICES);
      const watch = `${SLICES}?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
      let writes = 0;
      await until('the server to forget', async () => {
        writes += 1;
        const write = ['create', 'configmap', `write-${writes}`];
        expect(await kube.kubectl(write)).toMatchObject({ status: 0 });
        return (await kube.kubectl(['get', '--raw', watch])).stdout.includes('"code":410');
      });
      await kube.crash();
      await kube.startAgain(forgetful);
      await list(2);
      await follows(served, 2);
      expect(await requests('LIST')).toBeGreaterThan(0);
      expect(problems(served).filter((words) => words.includes('too old'))).toEqual([]);
    });

    it('notices a server that says nothing any more, keeps the fleet, and goes on when it speaks again', async () => {
      await account.allow(RIGHTS);
      await list(1);
      const served = await aggregator();
      await follows(served, 1);
      kube.freeze();
      await saying(served, [kube.url, 'has not answered for', 'the last list stays']);
      expect(await isOpen(served)).toBe(true);
      await follows(served, 1);
      kube.thaw();
      await list(1, 2);
      await follows(served, 1, 2);
    }, 120_000);

    it('names a token that is not taken any more, and goes on with the one that takes its place', async () => {
      await account.allow(RIGHTS);
      await list(1);
      const served = await aggregator();
      await follows(served, 1);
      await account.invalidate();
      // The server asks for the token at each request, and a watch is one: it ends with its connection.
      await kube.crash();
      await kube.startAgain();
      const line = await saying(served, ['401', account.folder]);
      expect(line.msg).toContain(`${account.folder}/token`);
      expect(line.msg).not.toMatch(/eyJ/);
      expect(await isOpen(served)).toBe(true);
      await account.rotate();
      await list(1, 2);
      await follows(served, 1, 2);
    });

    it.each([
      { missing: 'list', verbs: ['watch'] },
      { missing: 'watch', verbs: ['list'] },
    ])(
      'names the verb $missing when it alone is missing, with the rule that would allow it',
      async ({ missing, verbs }) => {
        await account.allow([{ ...RIGHTS[0], verbs }]);
        await list(1);
        const served = await aggregator();
        const { msg } = await saying(served, ['403']);
        expect(msg).toContain(account.user);
        expect(msg).toContain(
          `may not ${missing} endpointslices (discovery.k8s.io) in the namespace ${NAMESPACE}`,
        );
        expect(msg).toContain(
          '{apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"]}',
        );
        expect(await mayDo(missing)).toBe('no');
        // As the message asks an operator to do.
        await account.allow(RIGHTS);
        expect(await mayDo(missing)).toBe('yes');
        await follows(served, 1);
      },
    );

    it('names the other namespace that its account may not read', async () => {
      await account.allow(RIGHTS);
      const served = await aggregator('k8s://other/workers:50061');
      const { msg } = await saying(served, ['403']);
      expect(msg).toContain(
        'may not list endpointslices (discovery.k8s.io) in the namespace other (403). Add to a Role in the namespace other',
      );
      const ready = await probe(served, '/readyz?verbose');
      expect(ready.status).toBe(503);
    });

    it('names the pods that an account for Services may not read', async () => {
      await account.allow(RIGHTS);
      const served = await aggregator(`k8s://${NAMESPACE}?selector=app=worker`);
      const { msg } = await saying(served, ['403']);
      expect(msg).toContain(`may not list pods in the namespace ${NAMESPACE}`);
      expect(msg).toContain('{apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"]}');
    });

    it('counts the workers that it sees, and says so, where it may not read what they are to be', async () => {
      await account.allow(RIGHTS);
      await list(1, 2);
      const served = await aggregator(TARGET, { flags: ['--min-workers', 'auto'] });
      const { msg } = await saying(served, ['403']);
      expect(msg).toContain(
        `--min-workers auto: ${kube.url}: the user ${account.user} may not get pods/worker-`,
      );
      expect(msg).toContain('- {apiGroups: [""], resources: ["pods"], verbs: ["get"]}');
      expect(msg).toContain('The workers that are listed are counted in its place.');
      await follows(served, 1, 2);
    });

    it('is reported as denied by wait as well, which ends with a status of its own', async () => {
      await account.allow([]);
      const flags = ['--insecure', '--kubeconfig', account.kubeconfig, '--timeout', '5s'];
      const wait = forThisTest(startKvAccord('wait', ['wait', ...flags, '--workers', TARGET]));
      expect(await wait.ended, wait.log).not.toBe(0);
      expect(wait.log).toContain('may not list endpointslices');
    });

    it('names an API server to which packets are dropped, as by a NetworkPolicy', async () => {
      const address = network.address(100);
      await network.lose(address);
      const kubeconfig = kube.writeKubeconfig('admin', {}, { server: `https://${address}:6443` });
      const served = await aggregator(TARGET, { kubeconfig });
      const { msg } = await saying(served, [`https://${address}:6443`, 'cannot be reached']);
      expect(msg).toContain('where a NetworkPolicy or a firewall drops the packets');
      const reportedMs = performance.now();
      await served.program.stop();
      // It tries to connect for 10 s each time, and does not wait for that.
      expect(performance.now() - reportedMs).toBeLessThan(5_000);
    });

    it('names the worker to which packets are dropped, as by a NetworkPolicy, and takes it when they pass', async () => {
      await account.allow(RIGHTS);
      await network.lose(network.address(2));
      await list(1, 2);
      const served = await aggregator();
      const why = await until('the worker to be named', async () => {
        const { body } = await probe(served, '/readyz?verbose');
        return body.includes('worker-2 (') && !body.includes('has not reported yet') && body;
      });
      expect(why).toContain('waiting for 1 of 2 workers: worker-2 (no answer for 5 s');
      expect(why).toContain('a NetworkPolicy drops the packets');
      await network.find(network.address(2));
      await follows(served, 1, 2);
    });
  },
);
