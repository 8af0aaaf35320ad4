/**
 * Runs benches one after the other, each in a process of its own:
 * `npm run bench`, `npm run bench -- fleet fan-out`, `npm run bench -- --quick`.
 */
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { IS_QUICK } from './support/figures.js';

const BENCHES = [
  'agreement-reducer',
  'block-hashing',
  'prompt-tokens',
  'block-mirror',
  'rehash',
  'prefix-index',
  'hybrid-index',
  'router-decision',
  'pair-routing',
  'ejections',
  'pairs',
  'request-parts',
  'sidecar-start',
  'fan-out',
  'fleet',
  'event-to-index',
  'gateway',
  'epp',
  'doctor-log',
  'view-stream',
];
/** Too long to be run unless named or shortened. */
const LONG_BENCHES = ['soak'];

const [flags, names] = [true, false].map((isFlag) =>
  process.argv.slice(2).filter((word) => word.startsWith('--') === isFlag),
);
const unknown = [
  ...(flags ?? []).filter((flag) => flag !== '--quick'),
  ...(names ?? []).filter((name) => ![...BENCHES, ...LONG_BENCHES].includes(name)),
];
if (unknown.length > 0) {
  console.error(
    `bench: unknown ${unknown.join(', ')}; there are ${[...BENCHES, ...LONG_BENCHES].join(', ')}, and --quick`,
  );
  process.exit(2);
}

const { length: cores, 0: core } = cpus();
console.log(`Node ${process.version}, ${cores} x ${core?.model.trim() ?? 'unknown processor'}`);
let worst = 0;
const wanted = names?.length === 0 ? [...BENCHES, ...(IS_QUICK ? LONG_BENCHES : [])] : (names ?? []);
for (const name of wanted) {
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...(flags ?? [])], { stdio: 'inherit' });
  worst = Math.max(worst, status ?? 1);
}
process.exitCode = worst;
