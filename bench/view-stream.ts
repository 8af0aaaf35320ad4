/**
 * What it costs to be looked at: the view of 1,000 workers, all of whose numbers
 * change every second, streamed to ten open pages over real sockets, which are
 * read by another process; against the same work with nobody looking. And what
 * a decision costs more because its candidates are kept.
 */
import { spawn } from 'node:child_process';
import { FleetHistory } from '../src/core/view/fleet-history.js';
import { type Clock, systemClock } from '../src/edge/platform/clock.js';
import { seededRandom } from '../src/edge/platform/random.js';
import type { Candidate } from '../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../src/fleet/router/choice/cost.js';
import { type RankLoad, WorkerSelector } from '../src/fleet/router/choice/worker-selector.js';
import { ResultBooks } from '../src/fleet/router/results/result-books.js';
import { GroupTraffic } from '../src/fleet/router/traffic/worker-traffic.js';
import { ViewBoard } from '../src/fleet/view/view-board.js';
import { viewStream } from '../src/fleet/view/view-routes.js';
import { TestFleet } from '../test/support/fleet.js';
import { streamingServer } from '../test/support/streaming-server.js';
import { figure, IS_QUICK, median, title } from './support/figures.js';

const WORKERS = 1_000;
const PAGES = 10;
const MEASURED_MS = IS_QUICK ? 3_000 : 20_000;
const ROUNDS = IS_QUICK ? 1 : 3;
const REQUESTS_PER_SECOND = 200;
const DECISIONS = IS_QUICK ? 2_000 : 50_000;
const MAX_PART_OF_CORE = 5;

const clock: Clock = systemClock;
const history = new FleetHistory({ now: () => Math.round(clock.wallMs()) });
const fleet = new TestFleet({ isStaticDiscovery: true });
const names = Array.from({ length: WORKERS }, (_, at) => `10.0.${Math.floor(at / 250)}.${at % 250}:50061`);
fleet.list(...names);
for (const name of names) fleet.report(name, { model: 'served-model' });
for (const name of names.slice(-10)) fleet.mismatched(name, 16);
const view = fleet.view();
const candidates: readonly Candidate[] = names.map((target, at) => ({
  target,
  workerId: `worker-${at}`,
  instanceId: `${target}-1`,
  rank: 0,
  rankCount: 1,
  offer: 'full',
}));
const traffic = new GroupTraffic();
traffic.setWorkers(names);
const loads: RankLoad[] = candidates.map((candidate) => ({
  candidate,
  activeRequests: 3,
  activeBlocks: 400,
  prefillingTokens: 900,
}));
const group = {
  traffic,
  books: new ResultBooks({ clock }),
  list: { leftOut: new Map() },
  loads: () => loads,
};
const board = new ViewBoard(
  { title: 'bench', version: '0.0.0', processId: 'bench' },
  {
    clock,
    history,
    fleet: { view, reportDataOf: () => undefined },
    router: { groups: new Map([['served-model', group]]) },
    indexOf: () => undefined,
  },
);
const server = streamingServer(viewStream(board), { clock });
const { text: address } = await server.start();

/** Another process: what pages do with an event is no cost of the server. */
const READER = `
const [url, pages] = process.argv.slice(1);
let bytes = 0;
for (let page = 0; page < Number(pages); page += 1)
  fetch(url).then(async ({ body }) => { for await (const piece of body) bytes += piece.length; }).catch(() => {});
process.stdin.on('data', () => { console.log(bytes); bytes = 0; });
`;

/** Every worker gets requests, all the time. */
const selector = new WorkerSelector(
  { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
  { random: seededRandom(1) },
);
selector.begin(undefined, 16);
selector.setCandidates(candidates);
const working = setInterval(() => {
  for (const worker of traffic.workers.values()) {
    worker.decisions += 1;
    worker.firstTokens += 1;
    worker.firstTokenMs += 40;
    worker.outputTokens += 20;
  }
  const bucket = history.bucketOf('served-model');
  if (bucket !== undefined) bucket.decisions += REQUESTS_PER_SECOND;
}, 1_000);

/** Part of a core, in percent, over a while. */
async function partOfCore(): Promise<number> {
  const before = process.cpuUsage();
  const beganMs = clock.monotonicMs();
  await new Promise((resolve) => setTimeout(resolve, MEASURED_MS));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10 / (clock.monotonicMs() - beganMs);
}

title(
  `the view of ${WORKERS} workers under load, with ${PAGES} open pages (aim: below ${MAX_PART_OF_CORE} % of a core)`,
);
const alone: number[] = [];
const watched: number[] = [];
let bytes = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  alone.push(await partOfCore());
  const reader = spawn(
    process.execPath,
    ['-e', READER, `http://${address}/api/v1/view/events`, String(PAGES)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  while (board.readerCount < PAGES) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const answer = (): Promise<number> =>
    new Promise((resolve) => reader.stdout.once('data', (text: Buffer) => resolve(Number(text))));
  reader.stdin.write('\n');
  await answer();
  watched.push(await partOfCore());
  reader.stdin.write('\n');
  bytes = (await answer()) / PAGES / (MEASURED_MS / 1_000);
  reader.kill();
  while (board.readerCount > 0) await new Promise((resolve) => setTimeout(resolve, 50));
}
clearInterval(working);
figure('nobody looks', median(alone), '%');
figure('ten pages look', median(watched), '%');
const cost = median(watched) - median(alone);
figure('the stream costs', cost, '%');
figure('one page reads', bytes / 1_000, 'kB/s');
figure('the whole view is', Buffer.byteLength(board.snapshot().json) / 1_000, 'kB');
console.log(cost < MAX_PART_OF_CORE ? '  met' : '  MISSED');

title(
  `what a decision among ${WORKERS} workers costs more because its candidates are kept (50 a second are)`,
);
const chosen: number[] = [];
for (let round = 0; round < 5; round += 1) {
  const decided = selector.decide(undefined, []);
  const beganMs = clock.monotonicMs();
  for (let at = 0; at < DECISIONS / 5; at += 1) selector.cheapest(8, decided.candidate);
  chosen.push(((clock.monotonicMs() - beganMs) * 1_000) / (DECISIONS / 5));
}
figure('gathering the candidates', median(chosen), 'us');
const counting: number[] = [];
for (let round = 0; round < 5; round += 1) {
  const beganMs = clock.monotonicMs();
  for (let at = 0; at < DECISIONS; at += 1) {
    const bucket = history.bucketOf('served-model');
    if (bucket !== undefined) bucket.decisions += 1;
    history.decisions.wants(history.nowMs);
  }
  counting.push(((clock.monotonicMs() - beganMs) * 1_000) / DECISIONS);
}
figure('every decision: counting it', median(counting), 'us');
board.close();
await server.stop(0);
