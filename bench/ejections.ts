/**
 * What ejections and sessions add to a decision among 1,000 workers: the question whether anyone is ejected, the list of those
 * that are, and the choice by session among as many equally good ones.
 */
import { Ejections } from '../src/core/health/ejections.js';
import { preference, rankHash } from '../src/fleet/router/choice/session-affinity.js';
import { figure, IS_QUICK, median, title } from './support/figures.js';

const WORKERS = 1_000;
const EJECTED = 50;
const ROUNDS = IS_QUICK ? 3 : 9;
const CALLS = IS_QUICK ? 2_000 : 50_000;

const targets = Array.from({ length: WORKERS }, (_, at) => `10.0.${at >> 8}.${at & 255}:50061`);
const hashes = targets.map((target) => rankHash(target, 0));

function made(ejected: number): Ejections {
  const ejections = new Ejections({ afterFailures: 1, baseMs: 60_000, maxMs: 60_000 }, { draw: () => 0.5 });
  ejections.setMembers(
    targets.map((target) => ({ target, instanceId: 'i', address: '' })),
    0,
  );
  for (const target of targets.slice(0, ejected))
    ejections.failed(target, 'i', { kind: 'unreachable', detail: '' }, 0);
  return ejections;
}

/** Nanoseconds of one call, as the median of the rounds. */
function measured(call: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startNs = process.hrtime.bigint();
    for (let at = 0; at < CALLS; at += 1) call();
    return Number(process.hrtime.bigint() - startNs) / CALLS;
  });
  return median(rounds);
}

title(`what ejections and sessions add to a decision among ${WORKERS.toLocaleString('en')} workers`);
const well = made(0);
const ill = made(EJECTED);
let session = 0;
figure(
  'nobody is ejected',
  measured(() => well.hasAny),
  'ns',
);
figure(
  `${EJECTED} are: who gets nothing`,
  measured(() => [ill.overdue(1), ill.barred(1)]),
  'ns',
);
figure(
  'an answer is noted',
  measured(() => well.answered(targets[7] as string, 1)),
  'ns',
);
figure(
  'the one of a session, among all',
  measured(() => {
    session = (session + 0x9e3779b9) >>> 0;
    let most = -1;
    for (const hash of hashes) most = Math.max(most, preference(session, hash));
    return most;
  }),
  'ns',
);
