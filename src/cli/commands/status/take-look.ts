import { type FleetSnapshot, takePairs, takeResults, takeSnapshot } from '../../../app/fleet-snapshot.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { RpcChannel } from '../../../edge/rpc/channel.js';
import { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { Agreement, ListPairsResponse, Worker } from '../../../gen/kvaccord/v1/fleet.js';
import { ListResultsResponse } from '../../../gen/kvaccord/v1/router.js';
import { wrapLine } from '../../shared/wrap-line.js';
import { renderPairs } from './pairs-table.js';
import { renderResults } from './results-table.js';
import { renderTopology } from './topology-table.js';
import { renderSnapshot } from './workers-table.js';

/** What of a fleet is looked at. */
export interface LookSettings {
  readonly routing: boolean;
  readonly pairs: boolean;
  readonly topology: boolean;
  /** The served model; undefined while the fleet serves one. */
  readonly group: string | undefined;
  readonly json: boolean;
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
}

export interface LookModules {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Characters that a line may have; undefined where nothing has to fit. */
  readonly columns: number | undefined;
}

/**
 * Asks the process behind `channel` once. Resolves with the table, or its JSON. Rejects with a `ConnectError`, a
 * `SnapshotError`, or `signal.reason`.
 */
export async function takeLook(
  channel: RpcChannel,
  { routing, pairs, topology, group = '', json, timeoutMs }: LookSettings,
  { clock, signal, columns }: LookModules,
): Promise<string> {
  const asked = { clock, timeoutMs, signal };
  if (routing) {
    const results = await takeResults(channel, group, asked);
    if (json) return `${jsonText(ListResultsResponse.toJSON(results))}\n`;
    return fitted(renderResults(results.groups), columns);
  }
  if (pairs) {
    const found = await takePairs(channel, group, asked);
    if (json) return `${jsonText(ListPairsResponse.toJSON(found))}\n`;
    return fitted(renderPairs(found), columns);
  }
  const snapshot = await takeSnapshot(channel, asked);
  if (json) return `${jsonText(toJson(snapshot))}\n`;
  if (topology) return fitted(renderTopology(snapshot), columns);
  return withoutControls(renderSnapshot(snapshot, columns));
}

/** With the lines that are too long wrapped. */
function fitted(text: string, columns: number | undefined): string {
  const clean = withoutControls(text);
  if (columns === undefined) return clean;
  return clean
    .split('\n')
    .map((line) => wrapLine(line, columns))
    .join('\n');
}

/** Proto3 JSON of what was found, the same that grpcurl prints. */
function toJson(snapshot: FleetSnapshot): unknown {
  if (snapshot.type === 'sidecar') return { report: CapabilityReport.toJSON(snapshot.report) };
  return {
    agreements: snapshot.agreements.map((agreement) => Agreement.toJSON(agreement)),
    workers: snapshot.workers.map((worker) => Worker.toJSON(worker)),
  };
}
