/**
 * The prefix index: storing, finding, removing and memory, against the
 * concurrent compressed radix tree of Dynamo's KV router (CRTC) and its plain
 * radix tree, on the same workload, where these can be built.
 */
import { loadavg } from 'node:os';
import type { FindFigures, IndexFigures } from './parts/prefix-index.js';
import { IS_QUICK, median, title } from './support/figures.js';
import { CHECKSUMS, WORKLOAD, type WorkloadOptions } from './support/index-workload.js';
import { Part } from './support/part.js';
import { findRustPeer } from './support/rust-peer.js';

const ROUNDS = IS_QUICK ? 1 : 3;
const MODES = IS_QUICK ? (['full'] as const) : (['full', 'tail'] as const);
const HOLDERS = [4, 64, 1_000];
const PEER = findRustPeer();
const PEERS = ['crtc', 'radix'] as const;

/** The workloads of which memory is shown: nearly every block held by one worker, and all by all. */
const MEMORIES: readonly { what: string; workload: WorkloadOptions; args: readonly string[] }[] = [
  { what: 'most blocks held by one', workload: WORKLOAD, args: [] },
  {
    what: 'all blocks held by all',
    workload: { ...WORKLOAD, shared: WORKLOAD.depth, prefixes: 64 },
    args: ['--shared-ratio', '1', '--prefixes', '64'],
  },
];

/** Largest ratios that are wanted: to CRTC, and to the plain radix tree. */
const AIMS = {
  change: { crtc: 1, radix: 1.5 },
  find4: { crtc: 1.5 },
  find: { crtc: 1 },
  memory: { crtc: 0.5 },
};

/** What the peer prints of one workload. */
type PeerLine = Readonly<Record<string, string | number>>;

type Aim = Partial<Record<(typeof PEERS)[number], number>>;

/** Figures by name and side, one for each round. */
const runs = new Map<string, { aim: Aim; unit: string; sides: Map<string, number[]> }>();

function note(what: string, side: string, unit: string, aim: Aim, value: number): void {
  const run = runs.get(what) ?? { aim, unit, sides: new Map<string, number[]>() };
  runs.set(what, run);
  run.sides.set(side, [...(run.sides.get(side) ?? []), value]);
}

async function inPart<T>(name: string, values: unknown): Promise<T> {
  const part = new Part('prefix-index');
  try {
    return await part.ask<T>(name, values);
  } finally {
    await part.stop();
  }
}

function changeOf(what: 'store' | 'remove', mode: string): string {
  return `${what}, ${mode}, processor time a block`;
}

function findOf(kind: FindFigures['kind'], holders: number, what: string): string {
  return `find ${kind.replaceAll('_', ' ')}, ${holders} holders, ${what}`;
}

/** Of a look-up that finds something, and asks what the peer asks: block hashes cost us the chain over them. */
function aimOfFind(kind: FindFigures['kind'], holders: number): Aim {
  if (kind === 'miss' || kind === 'hit_with_chaining') return {};
  return holders === 4 ? AIMS.find4 : AIMS.find;
}

function noteOurs(mode: string, figures: IndexFigures): void {
  note(changeOf('store', mode), 'ours', 'ns', AIMS.change, figures.storeCpuNs);
  note(changeOf('remove', mode), 'ours', 'ns', AIMS.change, figures.removeCpuNs);
  if (mode !== 'full') return;
  for (const { kind, holders, usP50, usP99, usEach } of figures.finds) {
    note(findOf(kind, holders, 'p50'), 'ours', 'us', aimOfFind(kind, holders), usP50);
    note(findOf(kind, holders, 'p99'), 'ours', 'us', {}, usP99);
    note(findOf(kind, holders, 'each of many'), 'ours', 'us', {}, usEach);
  }
  note('reading the clock, in each p50 and p99', 'ours', 'us', {}, figures.clockUs);
}

function notePeer(peer: (typeof PEERS)[number], mode: 'full' | 'tail'): void {
  for (const line of PEER.ask<PeerLine>(['index', '--backend', peer, '--mode', mode])) {
    if (line['workload'] === 'STORE') {
      if (line['checksum'] !== String(CHECKSUMS[mode])) throw new Error(`${peer}: another workload`);
      note(changeOf('store', mode), peer, 'ns', AIMS.change, Number(line['ns_block_cpu']));
    } else if (line['workload'] === 'REMOVE') {
      note(changeOf('remove', mode), peer, 'ns', AIMS.change, Number(line['ns_block_cpu']));
    } else if (line['workload'] === 'FIND' && mode === 'full') {
      const holders = Number(line['holders']);
      const kinds = line['kind'] === 'hit' ? (['hit', 'hit_with_chaining'] as const) : [line['kind']];
      for (const kind of kinds as readonly FindFigures['kind'][]) {
        note(findOf(kind, holders, 'p50'), peer, 'us', aimOfFind(kind, holders), Number(line['us_p50']));
        note(findOf(kind, holders, 'p99'), peer, 'us', {}, Number(line['us_p99']));
      }
    }
  }
}

function print(): void {
  for (const [what, { aim, unit, sides }] of runs) {
    const ours = median(sides.get('ours') ?? []);
    const against = PEERS.flatMap((peer) => {
      const values = sides.get(peer);
      if (values === undefined) return [];
      const times = ours / median(values);
      const wanted = aim[peer];
      const verdict = wanted === undefined ? '' : ` (aim ${wanted}x, ${times <= wanted ? 'met' : 'MISSED'})`;
      return [`${peer} ${median(values).toFixed(3)}  ${times.toFixed(2)}x${verdict}`];
    });
    console.log(`  ${what.padEnd(44)} ${`${ours.toFixed(3)} ${unit}`.padStart(12)}  ${against.join('  ')}`);
  }
}

title(
  `prefix index: ${WORKLOAD.workers} workers, ${WORKLOAD.sequences} sequences of ${WORKLOAD.depth} blocks, ${ROUNDS} rounds; peer: ${PEER.says}`,
);
for (let round = 1; round <= ROUNDS; round += 1) {
  for (const mode of MODES) {
    noteOurs(
      mode,
      await inPart<IndexFigures>('index', { workload: { ...WORKLOAD, mode }, holders: HOLDERS }),
    );
    for (const peer of PEERS) notePeer(peer, mode);
  }
  for (const { what, workload, args } of MEMORIES) {
    const name = `memory of a pair, ${what}`;
    note(name, 'ours', 'bytes', AIMS.memory, await inPart<number>('bytesPerPair', workload));
    for (const peer of PEERS) {
      for (const line of PEER.ask<PeerLine>(['mem', '--backend', peer, ...args]))
        note(name, peer, 'bytes', AIMS.memory, Number(line['bytes_per_pair']));
    }
  }
  console.log(`  round ${round}: load of the machine ${(loadavg()[0] ?? 0).toFixed(2)}`);
}
print();
