import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { Program } from './program.js';
import { run } from './run.js';
import { until } from './until.js';

/*
 * EndpointSlices refuse addresses of the loopback, so pods' stand-ins need
 * others. They are taken from 198.18.0.0/15, which is set aside for tests of
 * networks: cut into sixteen parts, one for each network at a time.
 */
const PARTS = 16;
const ADDRESSES_PER_PART = 1 << 13;

/** The lower half of a part is pods, and the wire to them is at its end. */
const POD_ADDRESSES = 1 << 12;
const WIRE_BITS = 29;
const OUR_END = ADDRESSES_PER_PART - 2;
const POD_END = ADDRESSES_PER_PART - 3;
/** On the wire, but nobody is there. */
const NOBODY = ADDRESSES_PER_PART - 4;
const NOBODYS_HARDWARE = '02:00:00:00:00:ee';

/** Why pods' stand-ins cannot have addresses of their own here, or undefined when they can. */
export function podNetworkMissing(): string | undefined {
  // Whatever this makes is gone with the namespace that it is made in.
  const [unshare = '', ...args] = [
    ...['unshare', '--net', 'ip', 'link', 'add', 'one'],
    ...['type', 'veth', 'peer', 'name', 'other'],
  ];
  const { error, status, stderr } = spawnSync(unshare, args, { encoding: 'utf8' });
  if (error === undefined && status === 0) return undefined;
  const why = error?.message ?? stderr.trim();
  return `pods need a network namespace of their own: root, the commands unshare, nsenter and ip, and a kernel with veth (${why})`;
}

/**
 * A network namespace that stands in for the pods of a cluster: thousands of
 * addresses on which programs in it can listen, and which can be dialled from
 * outside. It goes with everything in it, however the test run ends, because
 * nothing but its processes holds it.
 */
export class PodNetwork {
  readonly #holder: Program;
  readonly #pid: number;
  readonly #part: number;
  readonly #link: string;

  private constructor(holder: Program, pid: number, part: number) {
    this.#holder = holder;
    this.#pid = pid;
    this.#part = part;
    this.#link = `kva-${pid}`;
  }

  static async start(): Promise<PodNetwork> {
    const holder = new Program({ name: 'pod-network', command: ['unshare', '--net', 'sleep', 'infinity'] });
    try {
      const pid = await until('the pod network', () => separatePid(holder), { needs: [holder], pollMs: 20 });
      const network = new PodNetwork(holder, pid, await freePart());
      await network.#connect();
      return network;
    } catch (error) {
      await holder.stop();
      throw error;
    }
  }

  /** The address of pod 1 to `POD_ADDRESSES` - 1. */
  address(pod: number): string {
    const value = this.#part * ADDRESSES_PER_PART + pod;
    return `198.${18 + (value >> 16)}.${(value >> 8) & 255}.${value & 255}`;
  }

  /** Where programs outside, such as the tests, listen for pods. */
  get outside(): string {
    return this.address(OUR_END);
  }

  /** The command, to be run among the pods. */
  inside(command: readonly string[]): string[] {
    return ['nsenter', `--net=/proc/${this.#pid}/ns/net`, ...command];
  }

  /** What is sent to this address is lost from now on, with no answer, as behind a NetworkPolicy that forbids it. */
  async lose(address: string): Promise<void> {
    await ip('route', 'replace', `${address}/32`, 'via', this.address(NOBODY), 'dev', this.#link);
  }

  /** The end of `lose`. */
  async find(address: string): Promise<void> {
    await ip('route', 'del', `${address}/32`);
  }

  async stop(): Promise<void> {
    await this.#holder.kill();
  }

  async #connect(): Promise<void> {
    const pods = `${this.address(0)}/${32 - Math.log2(POD_ADDRESSES)}`;
    const veth = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', String(this.#pid)];
    for (const step of [
      ['link', 'add', this.#link, ...veth],
      ['address', 'add', `${this.address(OUR_END)}/${WIRE_BITS}`, 'dev', this.#link],
      ['link', 'set', this.#link, 'up'],
      ['neigh', 'add', this.address(NOBODY), 'lladdr', NOBODYS_HARDWARE, 'dev', this.#link],
      // By way of one neighbour: the system keeps no more than a thousand of them.
      ['route', 'add', pods, 'via', this.address(POD_END), 'dev', this.#link],
    ]) {
      await ip(...step);
    }
    for (const step of [
      ['link', 'set', 'lo', 'up'],
      ['address', 'add', `${this.address(POD_END)}/${WIRE_BITS}`, 'dev', 'eth0'],
      ['link', 'set', 'eth0', 'up'],
      // All of them together: thousands of addresses one by one take a minute.
      ['route', 'add', 'local', pods, 'dev', 'lo'],
    ]) {
      const [command = '', ...args] = this.inside(['ip', ...step]);
      await succeed(command, args);
    }
  }
}

/** The process id of the holder once it is in a namespace of its own. */
function separatePid(holder: Program): number | undefined {
  const { pid } = holder;
  if (pid === undefined) return undefined;
  const isSeparate = readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net');
  return isSeparate ? pid : undefined;
}

/** A part that no route of this machine leads to: two test runs may share a machine. */
async function freePart(): Promise<number> {
  const routes = await succeed('ip', ['-4', 'route', 'show', 'root', '198.18.0.0/15']);
  const used = new Set(
    [...routes.matchAll(/^198\.(18|19)\.(\d+)\.0\/20 /gm)].map(
      ([, second, third]) => (Number(second) - 18) * (PARTS / 2) + Number(third) / 32,
    ),
  );
  const free = Array.from({ length: PARTS }, (_, part) => part).filter((part) => !used.has(part));
  const part = free[randomInt(Math.max(free.length, 1))];
  if (part === undefined) throw new Error('all parts of 198.18.0.0/15 are in use: ip route show');
  return part;
}

async function ip(...args: readonly string[]): Promise<void> {
  await succeed('ip', args);
}

async function succeed(command: string, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(command, args);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
  return stdout;
}
