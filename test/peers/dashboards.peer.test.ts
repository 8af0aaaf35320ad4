import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/edge/platform/clock.js';
import { SimulatedEngine } from '../../src/tools/demo/engines/simulated-engine.js';
import { simulatedVllm } from '../../src/tools/demo/engines/simulated-vllm.js';
import { deployFiles, repositoryFile } from '../deploy/manifests.js';
import { probe, type Served, type ServedFrontend, startFrontend, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { Prometheus } from './support/prometheus.js';
import { until } from './support/until.js';

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

/** What a fleet without a fault has nothing to show for: no gap, nothing that differs, no client that leaves. */
const EMPTY_WITHOUT_FAULTS: ReadonlySet<string> = new Set([
  'Why a gate is shut',
  'What differs from the agreement',
  'Answers that ended before their end',
  'Cache views that are not exact',
  'Requests without tokens',
]);

/** Conversations that go on, and turns of each. */
const CONVERSATIONS = 6;
const TURNS = 4;

/** Where others reach an engine, which its sidecar asks itself: it can be gone while the sidecar reports nothing. */
class Door {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    const engine = connect(this.#enginePort, '127.0.0.1');
    for (const one of [socket, engine]) {
      this.#sockets.add(one);
      one.once('close', () => this.#sockets.delete(one));
      one.on('error', () => one.destroy());
    }
    socket.pipe(engine).pipe(socket);
  });
  readonly #enginePort: number;

  constructor(engineUrl: string) {
    this.#enginePort = Number(new URL(engineUrl).port);
  }

  /** Answers its URL. */
  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

describe.skipIf(lacks('prometheus'))('over a fleet at work, a real Prometheus', () => {
  const engines: SimulatedEngine[] = [];
  const started: Served[] = [];
  const doors: Door[] = [];
  let prometheus: Prometheus;
  let frontend: ServedFrontend;

  beforeAll(async () => {
    for (const name of ['a', 'b', 'c']) {
      const setup = { model: 'tiny', tokensPerBlock: 32, publishesKvEvents: true };
      const engine = new SimulatedEngine({ surface: simulatedVllm, setup }, { clock: systemClock });
      engines.push(engine);
      await engine.open();
      engine.start();
      const door = new Door(engine.url);
      doors.push(door);
      const flags = ['--engine', engine.url, '--advertise-engine', await door.open()];
      started.push(await startSidecar(`worker-${name}`, ...flags));
    }
    frontend = await startFrontend('frontend', started, '--first-byte-timeout', '4s');
    started.push(frontend);
    prometheus = await Prometheus.start(
      repositoryFile('deploy/helm/kv-accord/files/recording.yaml').replaceAll('[5m]', '[30s]'),
      ['kv-accord', 'kv-accord-sidecar'],
    );
    prometheus.scrape({
      'kv-accord': [frontend.httpPort],
      'kv-accord-sidecar': started.slice(0, 3).map(({ httpPort }) => httpPort),
    });
    await until('the frontend to be ready', async () => (await probe(frontend, '/readyz')).status === 200, {
      needs: [frontend.program],
    });
    await talk();
    // One engine cannot be reached any more, and its sidecar does not know: its requests fail, and it is ejected.
    doors[2]?.close();
    await talk();
  });

  afterAll(async () => {
    await Promise.all([prometheus?.program.stop(), ...started.map(({ program }) => program.stop())]);
    for (const door of doors) door.close();
    await Promise.all(engines.map((engine) => engine.close()));
  });

  /** Conversations whose turns each begin with all that was said before. */
  async function talk(): Promise<void> {
    const said = Array.from({ length: CONVERSATIONS }, (_, of) =>
      `conversation ${of} begins here. `.repeat(40),
    );
    for (let turn = 0; turn < TURNS; turn += 1)
      await Promise.all(
        said.map(async (before, of) => {
          said[of] = `${before} turn ${turn} asks for more.`;
          const answer = await fetch(`${frontend.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({
              model: 'tiny',
              messages: [{ role: 'user', content: said[of] }],
              max_tokens: 4,
            }),
          });
          expect(answer.status).toBe(200);
          await answer.text();
        }),
      );
  }

  it.each(deployFiles('.json').filter((file) => file.startsWith('deploy/grafana/')))(
    'has an answer to each query of %s',
    async (file) => {
      const { panels } = JSON.parse(repositoryFile(file)) as Dashboard;
      for (const { title, targets = [] } of panels) {
        const queries = targets.map(({ expr }) =>
          expr.replaceAll(/\$(group|worker)\b/g, '.*').replaceAll('$__rate_interval', '30s'),
        );
        const find = async (): Promise<boolean> =>
          (await Promise.all(queries.map((query) => prometheus.query(query)))).flat().length > 0;
        if (queries.length === 0 || EMPTY_WITHOUT_FAULTS.has(title)) await find();
        else await until(title, find, { needs: [prometheus.program], timeoutMs: 20_000 });
      }
    },
  );

  it.each([
    'kv_accord:cached_block_ratio:rate5m',
    'kv_accord:used_cached_tokens:ratio_rate5m',
    'kv_accord:lost_cached_tokens:rate5m',
  ])('records %s', async (name) => {
    await talk();
    await until(name, async () => (await prometheus.query(name)).length > 0, { needs: [prometheus.program] });
  });
});
