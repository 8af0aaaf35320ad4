import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import type { RpcEdge } from '../../../edge/rpc/handlers.js';
import { wrapServerStream, wrapUnary } from '../../../edge/rpc/handlers.js';
import type {
  Agreement,
  FleetServer,
  ListWorkersRequest,
  ListWorkersResponse,
  WatchAgreementRequest,
  WatchAgreementResponse,
  WatchPairsRequest,
  WatchPairsResponse,
} from '../../../gen/kvaccord/v1/fleet.js';
import { Worker } from '../../../gen/kvaccord/v1/fleet.js';
import type { FleetRunner } from '../fleet-runner.js';
import type { AgreementBoard } from './agreement-board.js';
import { toMember } from './fleet-messages.js';
import { listPairs } from './pair-pages.js';
import { PairWatch } from './pair-watch.js';

/** How often a silent watch says that the aggregator lives. */
export const WATCH_HEARTBEAT_MS = 5_000;

/** Frontends that may watch one aggregator at a time: one connection and stream each, about 100 KB. */
const MAX_WATCHERS = 4_096;

/** Reports on one page of `ListWorkers`: well below gRPC's 4 MiB, with room for the last one. */
const PAGE_BYTES = 1_000_000;

export interface FleetServiceModules {
  readonly runner: FleetRunner;
  readonly board: AgreementBoard;
  readonly edge: RpcEdge;
}

/** Answers for one group, or throws the error that the caller gets. */
function agreementOf(board: AgreementBoard, group: string): Agreement {
  const answer = board.ask(group);
  switch (answer.type) {
    case 'agreement':
      return answer.agreement;
    case 'several_groups':
      throw new RpcError(
        'invalid_argument',
        `the fleet serves several models, name one as "group": ${answer.groups.join(', ')}`,
        { reason: 'several_groups' },
      );
    case 'unknown_group':
      throw new RpcError(
        'not_found',
        `nobody serves "${group}"; the fleet serves ${answer.groups.join(', ')}`,
        {
          reason: 'unknown_group',
        },
      );
  }
}

/** The `kvaccord.v1.Fleet` service over one fleet. */
export function createFleetService({ runner, board, edge }: FleetServiceModules): FleetServer {
  let watchers = 0;
  const heartbeat = () => ({
    payload: {
      $case: 'heartbeat' as const,
      value: { sentAt: new Date(edge.clock.wallMs()), instanceId: '', revision: 0n },
    },
  });
  return {
    getAgreement: wrapUnary(edge, ({ group }) => ({ agreement: agreementOf(board, group) })),

    watchAgreement: wrapServerStream<WatchAgreementRequest, WatchAgreementResponse>(
      edge,
      {
        mode: 'latest-value',
        heartbeat: { intervalMs: WATCH_HEARTBEAT_MS, make: heartbeat },
      },
      ({ group }, stream) => {
        if (watchers >= MAX_WATCHERS) {
          throw new RpcError('too_many_watchers', `this aggregator has ${MAX_WATCHERS} watchers, its limit`);
        }
        let sent: Agreement | undefined;
        const send = (): void => {
          const agreement = agreementOf(board, group);
          if (agreement === sent) return;
          sent = agreement;
          stream.send({ payload: { $case: 'agreement', value: agreement } });
        };
        send();
        watchers += 1;
        const leave = board.watch(() => {
          try {
            send();
          } catch (error) {
            // The group is no longer what the caller asked for; the words are made for it.
            stream.end(error instanceof RpcError ? error : new RpcError('internal', 'the watch failed'));
          }
        });
        onAbort(stream.signal, () => {
          watchers -= 1;
          leave();
        });
      },
    ),

    listWorkers: wrapUnary(edge, (request) => listWorkers(runner, request)),

    listPairs: wrapUnary(edge, (request) => listPairs(runner, request, edge.clock.monotonicMs())),

    watchPairs: wrapServerStream<WatchPairsRequest, WatchPairsResponse>(
      edge,
      { mode: 'every', heartbeat: { intervalMs: WATCH_HEARTBEAT_MS, make: heartbeat } },
      ({ group }, stream) => {
        if (watchers >= MAX_WATCHERS) {
          throw new RpcError('too_many_watchers', `this aggregator has ${MAX_WATCHERS} watchers, its limit`);
        }
        const watch = new PairWatch(agreementOf(board, group).group, {
          runner,
          clock: edge.clock,
          logger: edge.logger,
          stream,
        });
        watchers += 1;
        onAbort(stream.signal, () => {
          watchers -= 1;
          watch.close();
        });
        watch.start();
      },
    ),
  };
}

/** One page of members with their reports, in the order of their targets. */
export function listWorkers(
  runner: FleetRunner,
  { group, pageToken }: ListWorkersRequest,
): ListWorkersResponse {
  const { groups, unassigned } = runner.view;
  const all = [...groups, { group: '', members: unassigned }]
    .filter((view) => group === '' || view.group === group)
    .flatMap((view) => view.members.map((member) => ({ group: view.group, member })))
    .filter(({ member }) => member.target > pageToken)
    .sort((a, b) => (a.member.target < b.member.target ? -1 : 1));

  let bytes = 0;
  const workers: Worker[] = [];
  for (const { group: name, member } of all) {
    if (bytes > PAGE_BYTES) break;
    const worker = { group: name, member: toMember(member), report: undefined };
    // Also those without a report count: ten thousand of them would not fit into one message.
    bytes += Worker.encode(worker).finish().length + runner.reportBytes(member.target);
    workers.push({ ...worker, report: runner.reportOf(member.target) });
  }
  const nextPageToken = workers.length < all.length ? (workers.at(-1)?.member?.target ?? '') : '';
  return { workers, nextPageToken };
}
