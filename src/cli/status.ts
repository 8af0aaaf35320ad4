import { CapabilityReport } from '../gen/kvaccord/v1/capabilities.js';
import { Agreement, Worker } from '../gen/kvaccord/v1/fleet.js';
import { ADDRESS_FORMS, parseAddress } from '../platform/address.js';
import { sleep } from '../platform/clock.js';
import { RpcDialer } from '../rpc/channel.js';
import type { CommandBody } from './command.js';
import { EXIT_OK, EXIT_TRANSPORT } from './exit-codes.js';
import type { FleetSnapshot } from './fleet-snapshot.js';
import { takeSnapshot } from './fleet-snapshot.js';
import { openSecurity } from './open-security.js';
import { SettingError } from './settings/setting-error.js';
import type { statusSettings } from './status-settings.js';
import { renderSnapshot } from './status-table.js';

/** The aggregator's own default. */
const DEFAULT_ADDRESS = '127.0.0.1:50060';

/** How often `--watch` asks. */
const WATCH_INTERVAL_MS = 1_000;

/** Clears the screen and goes to its top, on a terminal. */
const CLEAR_SCREEN = '\u001b[2J\u001b[H';

/** Runs `kv-accord status`. */
export const runStatus: CommandBody<typeof statusSettings> = async (settings, context) => {
  const { clock, signal, stdout, stderr, operands } = context;
  const text = operands[0] ?? DEFAULT_ADDRESS;
  const address = parseAddress(text);
  if (address === undefined || (address.type === 'tcp' && address.port === 0)) {
    throw new SettingError(`"${text}" (on the command line): must be ${ADDRESS_FORMS}`);
  }
  const security = await openSecurity(settings, context);
  const dialer = new RpcDialer({}, { clock, security });
  let shown = '';
  try {
    do {
      const answer = await ask();
      if (typeof answer === 'number') return answer;
      if (answer !== shown)
        stdout.write(settings.watch && stdout.isTerminal ? `${CLEAR_SCREEN}${answer}` : answer);
      shown = answer;
      if (settings.watch) await sleep(clock, WATCH_INTERVAL_MS, signal);
    } while (settings.watch && !signal.aborted);
    return EXIT_OK;
  } finally {
    security.close();
  }

  /** One answer as text; an exit code when there is none. */
  async function ask(): Promise<string | number> {
    let channel: ReturnType<RpcDialer['dial']> | undefined;
    try {
      channel = dialer.dial(address as NonNullable<typeof address>);
      await channel.waitForReady(signal);
      const snapshot = await takeSnapshot(channel, { clock, timeoutMs: settings.timeoutMs, signal });
      return settings.json
        ? `${JSON.stringify(toJson(snapshot))}\n`
        : withoutControls(renderSnapshot(snapshot));
    } catch (error) {
      if (signal.aborted) return EXIT_OK;
      const why = error instanceof Error ? error.message : String(error);
      if (settings.watch && shown !== '') return `${why}\n`;
      stderr.write(`kv-accord status: ${why}\n`);
      return EXIT_TRANSPORT;
    } finally {
      channel?.close();
    }
  }
};

/** Proto3 JSON of what was found, the same that grpcurl prints. */
function toJson(snapshot: FleetSnapshot): unknown {
  if (snapshot.type === 'sidecar') return { report: CapabilityReport.toJSON(snapshot.report) };
  return {
    agreements: snapshot.agreements.map((agreement) => Agreement.toJSON(agreement)),
    workers: snapshot.workers.map((worker) => Worker.toJSON(worker)),
  };
}

/** Workers name themselves: escape sequences in their words must not reach a terminal. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
