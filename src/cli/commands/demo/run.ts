import { takeSnapshot } from '../../../app/fleet-snapshot.js';
import { jsonText } from '../../../core/text/printable.js';
import { parseAddress } from '../../../edge/platform/address.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import { systemRandom } from '../../../edge/platform/random.js';
import { untilAborted } from '../../../edge/platform/time/on-abort.js';
import { RpcDialer } from '../../../edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../../edge/security/security.js';
import { INTRODUCTION } from '../../../tools/demo/introduction.js';
import { inviteTo } from '../../../tools/demo/kept-fleet.js';
import { type Narrator, SILENT_NARRATOR, TextNarrator } from '../../../tools/demo/narrator.js';
import { playStory, type Story } from '../../../tools/demo/play-story.js';
import type { RenderTable } from '../../../tools/demo/scene.js';
import { SCENES } from '../../../tools/demo/scenes/index.js';
import type { CommandBody } from '../../command.js';
import { EXIT_FAULT, EXIT_OK } from '../../exit-codes.js';
import { renderSnapshot } from '../status/workers-table.js';
import type { demoSettings } from './settings.js';

/** Short enough to watch; a sidecar asks a ready engine every ten seconds otherwise. */
const PROBE_INTERVAL_MS = 500;
const SETTLE_MS = 800;
/** Long enough to be seen loading. */
const LOADING_MS = 1_000;
/** Time to read what is about to happen, where a person reads. */
const PAUSE_MS = 800;
/** The introduction is longer than anything after it. */
const INTRODUCTION_PAUSES = 3;

/** How long the aggregator may take to answer the demo's own question. */
const STATUS_TIMEOUT_MS = 5_000;

/** Runs `kv-accord demo`: 0 when every scene went as expected, 1 when one did not. */
export const runDemo: CommandBody<typeof demoSettings> = async (settings, context) => {
  const { clock, logger, signal, stdout, environment, version } = context;
  const { scenario, keep, json } = settings;
  const hasColours = stdout.isTerminal && (environment['NO_COLOR'] ?? '') === '';
  const narrator = json ? SILENT_NARRATOR : new TextNarrator({ hasColours }, { output: stdout });
  for (const paragraph of INTRODUCTION) narrator.say(paragraph);
  const pauseMs = stdout.isTerminal && !json ? PAUSE_MS : 0;
  if (pauseMs > 0) await sleep(clock, INTRODUCTION_PAUSES * pauseMs, signal);
  const story = await playStory(
    {
      scenes: SCENES.filter(({ name }) => scenario === 'all' || name === scenario),
      keep,
      version,
      probeIntervalMs: PROBE_INTERVAL_MS,
      settleMs: SETTLE_MS,
      loadingMs: LOADING_MS,
      pauseMs,
    },
    {
      clock,
      random: systemRandom,
      narrator,
      signal,
      renderStatus: (address) => renderStatus(address, clock, signal),
      renderTable,
      onLine: ({ from, level, message }) => logger.debug({ from, of_level: level }, message),
    },
  );
  try {
    const isOk = story.results.every(({ ok }) => ok);
    if (json) stdout.write(`${jsonText(toJson(story, isOk))}\n`);
    else sayEnd(story, narrator);
    if (story.kept !== undefined) await untilAborted(signal);
    return isOk ? EXIT_OK : EXIT_FAULT;
  } finally {
    await story.kept?.close();
  }
};

/** What `kv-accord status ADDRESS` prints. */
async function renderStatus(address: string, clock: Clock, signal: AbortSignal): Promise<string> {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`"${address}" is no address`);
  const channel = new RpcDialer({}, { clock, security: createPlaintextSecurity() }).dial(parsed);
  try {
    await channel.waitForReady(signal);
    return renderSnapshot(await takeSnapshot(channel, { clock, timeoutMs: STATUS_TIMEOUT_MS, signal }));
  } finally {
    channel.close();
  }
}

const renderTable: RenderTable = (head, rows) => {
  const table = plainTable(head);
  for (const row of rows) pushRow(table, row);
  return table.toString();
};

function sayEnd({ results, kept }: Story, narrator: Narrator): void {
  const failed = results.filter(({ ok }) => !ok).map(({ scene }) => scene);
  const checks = results.reduce((sum, result) => sum + result.checks.length, 0);
  const seconds = Math.ceil(results.reduce((sum, result) => sum + result.seconds, 0));
  const many = results.length === 1 ? 'The scene' : `All ${results.length} scenes`;
  narrator.say(
    failed.length === 0
      ? `${many} went as expected: ${checks} checks in ${seconds} s.`
      : `Not as expected: ${failed.join(', ')}.`,
  );
  if (kept === undefined) return;
  const lines = inviteTo(kept).map(({ says, line }) => `  # ${says}\n  ${line}`);
  narrator.say(`This fleet goes on running; Ctrl-C ends it.\n${lines.join('\n')}`);
}

function toJson({ results, kept }: Story, isOk: boolean): unknown {
  return { ok: isOk, scenes: results, ...(kept === undefined ? {} : { try: inviteTo(kept) }) };
}
