import { X509Certificate } from 'node:crypto';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Identity, TestAuthority } from '../edge/rpc/certificates.js';
import type { EnvoyOptions } from '../support/envoy-config.js';
import { newPrompt, openPairStage } from '../support/pair-stage.js';
import { freePort } from '../support/ports.js';
import { type Envoy, startEnvoy } from './support/envoy.js';
import { forThisTest } from './support/for-this-test.js';
import { logLines, startKvAccord } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { Program } from './support/program.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

/** Requests at a time, and those that are answered before and after a change of the certificate. */
const AT_A_TIME = 2;
const ANSWERED = 20;

/** An Envoy whose picker is kv-accord. */
interface Door {
  readonly epp: Program;
  readonly envoy: Envoy;
  readonly pickerPort: number;
}

/** A folder of certificates as Kubernetes mounts a Secret: names that lead over a link, which is replaced by one rename. */
class MountedSecret {
  readonly folder = join(scratchFolder(), 'secret');
  #version = 0;

  constructor(identity: Identity, authority: string) {
    mkdirSync(this.folder);
    this.write(identity, authority);
    for (const name of ['tls.crt', 'tls.key', 'ca.crt'])
      symlinkSync(join('..data', name), join(this.folder, name));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write({ cert, key }: Identity, authority: string): void {
    this.#version += 1;
    const version = `..${this.#version}`;
    mkdirSync(this.path(version));
    writeFileSync(join(this.path(version), 'tls.crt'), cert);
    writeFileSync(join(this.path(version), 'tls.key'), key);
    writeFileSync(join(this.path(version), 'ca.crt'), authority);
    symlinkSync(version, this.path('..data_tmp'));
    renameSync(this.path('..data_tmp'), this.path('..data'));
  }

  /** The flags of a process that serves with it and knows its peers by it. */
  get flags(): readonly string[] {
    const pair = ['--tls-cert', this.path('tls.crt'), '--tls-key', this.path('tls.key')];
    return [...pair, '--tls-ca', this.path('ca.crt')];
  }
}

/** Two simulated engines with sidecars, a picker, and an Envoy; `flags` are those of sidecars and picker. */
async function openDoor(
  flags: readonly string[],
  pickerFlags: readonly string[],
  options: Partial<EnvoyOptions>,
): Promise<Door> {
  const { stage } = await openPairStage(['worker-1', 'worker-2'], {
    add: (close) => onTestFinished(async () => void (await close())),
  });
  const sidecars: string[] = [];
  for (const { name, engine } of stage.workers) {
    const address = `127.0.0.1:${await freePort()}`;
    const listens = ['--listen', address, '--http-listen', `127.0.0.1:${await freePort()}`];
    forThisTest(
      startKvAccord(name, ['sidecar', '--worker-id', name, '--engine', engine.url, ...listens, ...flags]),
    );
    sidecars.push(address);
  }
  const pickerPort = await freePort();
  const epp = forThisTest(
    startKvAccord('epp', [
      ...['epp', '--workers', sidecars.join(','), '--settle', '500ms', ...flags, ...pickerFlags],
      ...['--ext-proc-listen', `127.0.0.1:${pickerPort}`, '--health-listen', `127.0.0.1:${await freePort()}`],
      ...['--listen', `127.0.0.1:${await freePort()}`, '--http-listen', `127.0.0.1:${await freePort()}`],
    ]),
  );
  const engines = stage.workers.map(({ engine }) => new URL(engine.url).host);
  const envoy = forThisTest(await startEnvoy('envoy', { pickerPort, engines, ...options }));
  return { epp, envoy, pickerPort };
}

async function ask({ envoy }: Door): Promise<number> {
  const body = JSON.stringify({ model: 'demo-model', prompt: newPrompt(40), max_tokens: 2 });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${envoy.url}/v1/completions`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  return answer.status;
}

const untilServed = (door: Door): Promise<unknown> =>
  until('requests to be answered', async () => (await ask(door)) === 200, { needs: [door.epp] });

/** The certificate that a new connection is shown. */
function shownBy({ pickerPort: port }: Door): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const shown = socket.getPeerX509Certificate();
      socket.destroy();
      if (shown === undefined) reject(new Error('no certificate was shown'));
      else resolve(shown);
    });
  });
}

async function shows(door: Door, { cert }: Identity): Promise<boolean> {
  return (await shownBy(door)).fingerprint256 === new X509Certificate(cert).fingerprint256;
}

/** Envoy's counter of connections to the picker. */
async function statistic({ envoy }: Door, name: string): Promise<number> {
  const page = await (await fetch(`${envoy.adminUrl}/stats?filter=^cluster.picker.ssl.${name}$`)).text();
  return Number(/: (\d+)/.exec(page)?.[1] ?? Number.NaN);
}

/** Requests that go on until they are stopped; resolves with what became of them. */
function underLoad(door: Door): { readonly statuses: readonly number[]; stop(): Promise<void> } {
  const statuses: number[] = [];
  let isOver = false;
  const loops = Array.from({ length: AT_A_TIME }, async () => {
    while (!isOver) statuses.push(await ask(door).catch(() => 0));
  });
  onTestFinished(() => {
    isOver = true;
  });
  return {
    statuses,
    stop: async () => {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

describe.skipIf(lacks('envoy'))('the connection between a real Envoy and its picker', () => {
  it('changes its certificate under load without a request that fails, and keeps it where the new one does not fit', async () => {
    const authority = await TestAuthority.create();
    const [first, second, third] = [
      await authority.issue(),
      await authority.issue(),
      await authority.issue(),
    ];
    const secret = new MountedSecret(first, authority.pem);
    const door = await openDoor(secret.flags, [], {
      pickerAuthority: authority.pem,
      pickerRequestsPerConnection: 5,
    });
    await untilServed(door);
    const load = underLoad(door);
    const untilMore = (): Promise<unknown> => {
      const enough = load.statuses.length + ANSWERED;
      return until(`${ANSWERED} more answers`, () => load.statuses.length >= enough);
    };
    const logged = (message: string): number =>
      logLines(door.epp).filter(({ msg }) => msg.startsWith(message)).length;
    await untilMore();
    expect(await shows(door, first)).toBe(true);

    secret.write(second, authority.pem);
    await until('the second certificate', () => shows(door, second));
    const before = await statistic(door, 'handshake');
    await untilMore();
    expect(await statistic(door, 'handshake')).toBeGreaterThan(before);

    secret.write({ cert: third.cert, key: second.key }, authority.pem);
    await until('an error', () => logged('The TLS certificates in the files cannot be used') > 0);
    const [line] = logLines(door.epp).filter(({ level }) => level === 'error');
    expect(JSON.stringify(line)).toContain(
      `--tls-cert ${secret.path('tls.crt')}: does not belong to the key in --tls-key ${secret.path('tls.key')}`,
    );
    await untilMore();
    expect(await shows(door, second)).toBe(true);

    secret.write(third, authority.pem);
    await until('the third certificate', () => shows(door, third));
    await untilMore();
    await load.stop();
    expect(new Set(load.statuses)).toEqual(new Set([200]));
    expect(await statistic(door, 'fail_verify_error')).toBe(0);
    expect(logged('Took up new TLS certificates')).toBe(2);
    expect(logged('The TLS certificates in the files cannot be used')).toBe(1);
  });

  it('is made with a certificate of its own where none is given', async () => {
    const door = await openDoor([], [], {});
    await untilServed(door);
    expect((await shownBy(door)).subject).toBe('CN=kv-accord epp');
  });

  it('is plaintext with --secure-serving=false, and a picker names the gateway that expects another', async () => {
    const plain = await openDoor([], ['--secure-serving=false'], { isSecure: false });
    await untilServed(plain);
    const door = await openDoor([], [], { isSecure: false });
    await until('a warning', async () => {
      expect(await ask(door)).toBe(500);
      return logLines(door.epp).some(({ msg }) =>
        /failed in its TLS handshake: it speaks plaintext/.test(msg),
      );
    });
  });
});
