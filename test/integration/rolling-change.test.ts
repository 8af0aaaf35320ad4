import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/edge/platform/address.js';
import { fixedLocation } from '../../src/worker/sidecar/probing/engine-locator.js';
import { Sidecar } from '../../src/worker/sidecar/sidecar.js';
import { AggregatorHarness } from '../support/aggregator-harness.js';
import { OpenThings } from '../support/open-things.js';
import { openVllm } from '../support/open-vllm.js';
import { sidecarModules } from '../worker/sidecar/support/sidecar-modules.js';

const open = new OpenThings();
afterEach(() => open.close());

const ANY = parseAddress('127.0.0.1:0') as NonNullable<ReturnType<typeof parseAddress>>;

/** An engine and its real sidecar, as one pod has them. */
interface Pod {
  readonly isNew: boolean;
  readonly grpc: string;
  readonly http: string;
  delete(): Promise<void>;
}

async function startPod(name: string, tokensPerBlock: number, isNew: boolean): Promise<Pod> {
  const engine = await openVllm(tokensPerBlock);
  engine.start();
  const sidecar = new Sidecar(
    { version: '0', workerId: name, listen: ANY, httpListen: ANY, declaredFacts: [], probeIntervalMs: 1_000 },
    {
      ...sidecarModules(),
      locate: async () => fixedLocation([{ httpBaseUrl: engine.url }]),
    },
  );
  const { grpc, http } = await sidecar.start();
  const stop = new AbortController();
  const running = sidecar.run(stop.signal);
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    stop.abort();
    ended ??= running.then(() => engine.close());
    return ended;
  };
  open.add(end);
  return { isNew, grpc: grpc.text, http: `http://${http.text}`, delete: end };
}

/** A Deployment's controller, as far as a rolling update goes: it knows pods that are ready and nothing else. */
class RollingUpdate {
  readonly offered: number[] = [];
  pods: Pod[] = [];
  readonly #replicas = 6;
  readonly #list: string;
  #made = 0;

  readonly #bounds: { readonly maxSurge: number; readonly maxUnavailable: number };
  readonly #path: string;

  constructor(
    bounds: { readonly maxSurge: number; readonly maxUnavailable: number },
    path = '/readyz?offered',
  ) {
    this.#bounds = bounds;
    this.#path = path;
    const folder = mkdtempSync(join(tmpdir(), 'kv-accord-roll-'));
    open.add(() => rmSync(folder, { recursive: true }));
    this.#list = join(folder, 'workers.txt');
  }

  get workersFile(): string {
    return this.#list;
  }

  async begin(): Promise<void> {
    for (let at = 0; at < this.#replicas; at += 1) await this.#create(32, false);
    this.write();
  }

  /** One turn of the controller. True when the update is over. */
  async step(harness: AggregatorHarness): Promise<boolean> {
    const isReady = new Map<Pod, boolean>();
    for (const pod of this.pods) isReady.set(pod, await this.isReady(pod));
    const { maxSurge, maxUnavailable } = this.#bounds;
    let total = this.pods.length;
    let news = this.pods.filter(({ isNew }) => isNew).length;
    for (; total < this.#replicas + maxSurge && news < this.#replicas; total += 1) {
      await this.#create(64, true);
      news += 1;
    }
    let spare = [...isReady.values()].filter(Boolean).length - (this.#replicas - maxUnavailable);
    const old = this.pods.filter(({ isNew }) => !isNew);
    // Those that are not ready go first, and cost nothing.
    for (const pod of [...old.filter((one) => !isReady.get(one)), ...old.filter((one) => isReady.get(one))]) {
      if (isReady.get(pod) === true) {
        if (spare <= 0) break;
        spare -= 1;
      }
      this.pods = this.pods.filter((one) => one !== pod);
      void pod.delete();
    }
    this.write();
    await new Promise((resolve) => setTimeout(resolve, 250));
    this.offered.push(offeredBy(harness));
    return this.pods.every(({ isNew }) => isNew) && offeredBy(harness) === this.#replicas;
  }

  async isReady(pod: Pod): Promise<boolean> {
    return (await fetch(`${pod.http}${this.#path}`)).status === 200;
  }

  async #create(tokensPerBlock: number, isNew: boolean): Promise<void> {
    this.#made += 1;
    const pod = await startPod(`w-${this.#made}`, tokensPerBlock, isNew);
    // A kubelet asks from the start of a pod on.
    await this.isReady(pod);
    this.pods.push(pod);
  }

  /** Swapped as a whole, as Kubernetes does. */
  write(): void {
    writeFileSync(`${this.#list}.new`, JSON.stringify(this.pods.map(({ grpc }) => grpc)));
    renameSync(`${this.#list}.new`, this.#list);
  }
}

function offeredBy(harness: AggregatorHarness): number {
  const { groups } = harness.aggregator.fleet.runner.view;
  return groups.flatMap(({ members }) => members).filter(({ offer }) => offer !== 'none').length;
}

async function start(update: RollingUpdate): Promise<AggregatorHarness> {
  await update.begin();
  const harness = await AggregatorHarness.start([], { settleMs: 500 }, { workersFile: update.workersFile });
  open.add(() => harness.stop());
  await harness.untilGate(true);
  await harness.untilView(() => offeredBy(harness) === 6);
  for (const pod of update.pods) while (!(await update.isReady(pod)));
  return harness;
}

describe('a rolling change of block size, six workers', () => {
  it('keeps five offered with a surge of all and one that may be missing', async () => {
    const update = new RollingUpdate({ maxSurge: 6, maxUnavailable: 1 });
    const harness = await start(update);
    while (!(await update.step(harness)));
    expect(Math.min(...update.offered)).toBeGreaterThanOrEqual(5);
    expect(harness.aggregator.fleet.runner.view.groups[0]?.values?.tokens_per_block).toBe(64);
    const dissents = harness.logger.lines.filter(({ fields }) => fields['code'] === 'worker_dissents');
    expect(dissents).toHaveLength(1);
    if (process.env['KV_ACCORD_SHOW'] !== undefined) console.log(update.offered.join(' '));
  }, 60_000);

  it('stands still with what serves, where the surge cannot become a majority', async () => {
    const update = new RollingUpdate({ maxSurge: 2, maxUnavailable: 1 });
    const harness = await start(update);
    for (let turn = 0; turn < 12; turn += 1) expect(await update.step(harness)).toBe(false);
    expect(Math.min(...update.offered)).toBe(5);
    const waiting = update.pods.find(({ isNew }) => isNew);
    const answer = await fetch(`${waiting?.http}/readyz?offered`);
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining('keep this worker out'),
    ]);
    expect((await fetch(`${waiting?.http}/readyz`)).status).toBe(200);
  }, 60_000);

  it('hears of a worker that differs from every frontend, also when the first probe comes long after the report', async () => {
    const update = new RollingUpdate({ maxSurge: 0, maxUnavailable: 0 }, '/livez');
    await update.begin();
    const frontends = [];
    for (let at = 0; at < 2; at += 1) {
      const harness = await AggregatorHarness.start(
        [],
        { settleMs: 500 },
        { workersFile: update.workersFile },
      );
      open.add(() => harness.stop());
      frontends.push(harness);
    }
    for (const harness of frontends) await harness.untilView(() => offeredBy(harness) === 6);
    const other = await startPod('w-other', 64, true);
    update.pods.push(other);
    update.write();
    const isKeptOut = (harness: AggregatorHarness): boolean =>
      harness.aggregator.fleet.runner.view.groups[0]?.members.some(({ state }) => state === 'dissenting') ===
      true;
    for (const harness of frontends) await harness.untilView(() => isKeptOut(harness));
    // Nobody has asked until now, so nobody has reported.
    let text = await (await fetch(`${other.http}/readyz?offered`)).text();
    expect(text).toContain('no frontend has decided yet');
    while (!text.includes('2 of 2 frontends keep this worker out')) {
      text = await (await fetch(`${other.http}/readyz?offered`)).text();
    }
    const [same] = update.pods;
    let status = 0;
    while (status !== 200) status = (await fetch(`${same?.http}/readyz?offered`)).status;
  }, 60_000);
});
