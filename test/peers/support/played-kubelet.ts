import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { simulatedVllm } from '../../../src/tools/demo/engines/simulated-vllm.js';
import type { Pod, PodPlay } from './kube-pods.js';
import { startKvAccord } from './kv-accord.js';
import type { PodNetwork } from './pod-network.js';
import type { Program } from './program.js';

/** The variable of a container that says which block size the simulated engine of its pod has. */
export const BLOCK_SIZE = 'BLOCK_SIZE';

interface Running {
  readonly address: string;
  readonly engine: Server;
  readonly sidecar: Program;
  isReady: boolean;
}

/**
 * Plays scheduler and kubelet for the pods of one app: each gets a node, an
 * address, a simulated vLLM of the size that its spec has, and the built
 * sidecar. Its Ready condition follows the readiness probe of its spec, and a
 * pod that is deleted gets its SIGTERM.
 */
export class PlayedKubelet {
  readonly #options: { readonly namespace: string; readonly app: string };
  readonly #network: PodNetwork;
  readonly #pods: PodPlay;
  readonly #running = new Map<string, Running>();
  #nextAddress: number;
  #isOver = false;
  #loop: Promise<void> | undefined;

  constructor(
    options: { readonly namespace: string; readonly app: string; readonly firstAddress: number },
    modules: { readonly network: PodNetwork; readonly pods: PodPlay },
  ) {
    this.#options = options;
    this.#nextAddress = options.firstAddress;
    this.#network = modules.network;
    this.#pods = modules.pods;
  }

  /** Pods that run, by what their readiness probe said last. */
  get ready(): number {
    return [...this.#running.values()].filter(({ isReady }) => isReady).length;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#loop;
    await Promise.all([...this.#running.values()].map(end));
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const pods = await this.#pods.of(this.#options.namespace, this.#options.app);
      await Promise.all(pods.map((pod) => this.#sync(pod)));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  async #sync(pod: Pod): Promise<void> {
    const name = { namespace: this.#options.namespace, name: pod.metadata.name };
    const running = this.#running.get(name.name);
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#running.delete(name.name);
      if (running !== undefined) await end(running);
      await this.#pods.finish(name);
      return;
    }
    if (running === undefined) {
      const started = await this.#startPod(pod);
      this.#running.set(name.name, started);
      await this.#pods.run(name, started.address, { ready: false });
      return;
    }
    const isReady = await passes(pod, running.address);
    if (isReady === running.isReady) return;
    running.isReady = isReady;
    await this.#pods.setReady(name, isReady);
  }

  async #startPod(pod: Pod): Promise<Running> {
    const env = pod.spec.containers.flatMap((container) => container.env ?? []);
    const size = Number(env.find(({ name }) => name === BLOCK_SIZE)?.value);
    const address = this.#network.address(this.#nextAddress++);
    const engine = await startEngine(this.#network.outside, size);
    const { port } = engine.address() as AddressInfo;
    const sidecar = startKvAccord(
      `sidecar-${size}-${pod.metadata.name}`,
      [
        ...['sidecar', '--engine', `http://${this.#network.outside}:${port}`, '--probe-interval', '2s'],
        ...['--worker-id', pod.metadata.name, '--kv-event-sources', 'off', '--insecure'],
        ...['--listen', `${address}:50061`, '--http-listen', `${address}:9464`],
      ],
      {},
      (command) => this.#network.inside(command),
    );
    return { address, engine, sidecar, isReady: false };
  }
}

/** What the probe of the pod's spec says, as a kubelet takes it: any answer from 200 to 399. */
async function passes(pod: Pod, address: string): Promise<boolean> {
  const probe = pod.spec.containers.find(({ readinessProbe }) => readinessProbe !== undefined);
  if (probe?.readinessProbe === undefined) throw new Error('the pod has no readiness probe');
  const { path, port } = probe.readinessProbe.httpGet;
  try {
    return (await fetch(`http://${address}:${port}${path}`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false; // nobody listens yet
  }
}

async function startEngine(host: string, tokensPerBlock: number): Promise<Server> {
  const pages = simulatedVllm.pages({
    ...{ model: 'tiny', tokensPerBlock, configuredTokensPerBlock: tokensPerBlock },
    ...{ totalBlocks: 65_536, maxModelLen: 8_192, startedAtMs: Date.now() },
  });
  const engine = createServer(({ url }, response) => {
    const page = pages[url?.split('?', 1)[0] ?? ''];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': page?.contentType ?? 'text/plain' });
    response.end(page?.body);
  });
  await new Promise<void>((resolve) => engine.listen(0, host, resolve));
  return engine;
}

async function end({ engine, sidecar }: Running): Promise<void> {
  await sidecar.stop();
  engine.closeAllConnections();
  await new Promise<void>((resolve) => engine.close(() => resolve()));
}
