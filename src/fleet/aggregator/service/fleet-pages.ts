import { MEMBER_RANKS, MEMBER_TONES } from '../../../core/agreement/view/member-tones.js';
import type { FleetView, GroupView, MemberView } from '../../../core/agreement/view/snapshot.js';
import { sourceText } from '../../../core/agreement/view/snapshot.js';
import { clip } from '../../../core/text/lists.js';
import { workerName } from '../../../core/text/worker-name.js';
import type { ApiRoute } from '../../../edge/http/api.js';
import { ApiError } from '../../../edge/http/api.js';
import type { StatusContent, StatusTable } from '../../../edge/http/status-page.js';
import { Agreement, Worker } from '../../../gen/kvaccord/v1/fleet.js';
import type { FleetRunner } from '../fleet-runner.js';
import type { AgreementBoard } from './agreement-board.js';
import { listWorkers } from './fleet-service.js';

/** Longest headline: the reasons of a few models. */
const MAX_HEADLINE_CHARS = 16_384;

/** The status page of a process that follows a fleet; `title` names that process. */
export function fleetStatus(view: FleetView, title: string = 'kv-accord aggregator'): StatusContent {
  const shut = view.groups.filter(({ ready }) => !ready);
  const reasons = [...view.reasons, ...shut.flatMap((group) => group.reasons)].map(({ text }) => text);
  const isOpen = view.groups.length > 0 && shut.length === 0;
  const open = view.groups.filter(({ ready }) => ready).flatMap(openMessage);
  const isAnybodyOut =
    view.groups.some(({ members }) => members.some((one) => isKeptOut(one) || isEjected(one))) ||
    view.unassigned.length > 0;
  const isConflict = view.groups.some(({ state }) => state === 'conflict');
  const isPartial = view.groups.some(({ partialReason }) => partialReason !== '');
  return {
    title,
    headline: {
      // What is shut comes first: it is what a person has to act on.
      text: clip([...(isOpen ? [] : reasons), ...open].join('\n'), MAX_HEADLINE_CHARS),
      tone: isConflict ? 'bad' : isOpen && !isAnybodyOut && !isPartial ? 'good' : 'warn',
    },
    facts: [
      ['Models', String(view.groups.length)],
      ['Workers', countsOf([...view.groups.flatMap(({ members }) => members), ...view.unassigned])],
      ...view.groups.map(({ group, routingMode, routingReason }): readonly [string, string] => [
        `Routing of ${group}`,
        `${routingMode}: ${routingReason}`,
      ]),
    ],
    tables: [
      ...view.groups.map((group) => membersTable(group.group, group.members)),
      ...(view.unassigned.length === 0 ? [] : [membersTable('No model yet', view.unassigned)]),
    ],
  };
}

function openMessage({ group, members, values, epoch, partialReason }: GroupView): string[] {
  const partial = partialReason === '' ? '' : `; partial: ${partialReason}`;
  const out = members.filter(isKeptOut);
  const ejected = members.filter(isEjected).length;
  return [
    `${group}: gate open, ${values?.tokens_per_block ?? 0} tokens per block, ${members.length} workers, epoch ${epoch}${partial}`,
    ...(out.length === 0
      ? []
      : [`${out.length} of ${members.length} workers get no requests: ${countsOf(out, false)}`]),
    ...(ejected === 0
      ? []
      : [
          `${ejected} of ${members.length} workers get nothing but a try from time to time: ${ejected} ejected`,
        ]),
  ];
}

/** Whether it would get requests if all were well: who leaves in order is no fault. */
function isKeptOut({ offer, state }: MemberView): boolean {
  return offer === 'none' && state !== 'draining';
}

/** Whether its requests failed, and others get them for a while. */
function isEjected({ ejectedReason }: MemberView): boolean {
  return ejectedReason !== '';
}

/** `1,000: 10 dissenting, 990 verified`. */
function countsOf(members: readonly MemberView[], withTotal = true): string {
  const counts = [...MEMBER_TONES.keys()].map(
    (state) => [state, members.filter((one) => one.state === state).length] as const,
  );
  const words = counts.flatMap(([state, count]) => (count === 0 ? [] : [`${count} ${state}`])).join(', ');
  if (!withTotal) return words;
  return members.length === 0 ? '0' : `${members.length}: ${words}`;
}

/** By what a person has to act on: whether its requests fail, the state, then whether it gets requests, then the name. */
function byUrgency(a: MemberView, b: MemberView): number {
  if (isEjected(a) !== isEjected(b)) return isEjected(a) ? -1 : 1;
  const rank = (MEMBER_RANKS.get(a.state) ?? 0) - (MEMBER_RANKS.get(b.state) ?? 0);
  if (rank !== 0) return rank;
  if (a.offer !== b.offer) return OFFER_RANKS[a.offer] - OFFER_RANKS[b.offer];
  return workerName(a) < workerName(b) ? -1 : 1;
}

const OFFER_RANKS: Readonly<Record<MemberView['offer'], number>> = { none: 0, load_only: 1, full: 2 };

function membersTable(title: string, members: readonly MemberView[]): StatusTable {
  return {
    title,
    note: countsOf(members, false),
    columns: ['Worker', 'State', 'Tokens per block', 'From', 'Requests', 'Cache view', 'Why'],
    rows: [...members]
      .sort(byUrgency)
      .map((member) => [
        workerName(member),
        isEjected(member)
          ? { text: 'ejected', tone: 'bad' }
          : { text: member.state, tone: MEMBER_TONES.get(member.state) ?? 'plain' },
        member.tokensPerBlock === undefined ? '' : String(member.tokensPerBlock),
        sourceText(member),
        isEjected(member)
          ? 'tries'
          : member.offer === 'full'
            ? 'yes'
            : member.offer === 'load_only'
              ? 'load only'
              : 'no',
        member.cacheView ?? '',
        member.ejectedReason || member.reason || member.cacheViewReason,
      ]),
  };
}

/** The Fleet service as JSON, below `/api/v1`: the same messages in proto3 JSON. */
export function fleetRoutes(modules: {
  readonly runner: FleetRunner;
  readonly board: AgreementBoard;
}): ApiRoute[] {
  const { runner, board } = modules;
  return [
    {
      path: '/agreements',
      summary: 'The agreement of every model that the fleet serves',
      response: { type: 'object', properties: { agreements: { type: 'array', items: { type: 'object' } } } },
      handle: () => ({ agreements: board.all().map((agreement) => Agreement.toJSON(agreement)) }),
    },
    {
      path: '/agreements/{group}',
      summary: 'The agreement of one model',
      response: { type: 'object' },
      handle: ({ params }) => {
        const answer = board.ask(params['group'] ?? '');
        if (answer.type === 'agreement') return Agreement.toJSON(answer.agreement);
        throw new ApiError(404, 'unknown_group', `the fleet serves ${answer.groups.join(', ')}`);
      },
    },
    {
      path: '/workers',
      summary: 'Members with their reports, page by page',
      query: { group: 'the served model; all when left out', page_token: 'nextPageToken of the page before' },
      response: {
        type: 'object',
        properties: {
          workers: {
            type: 'array',
            items: {
              type: 'object',
              description:
                'kvaccord.v1.Worker. report is what /api/v1/capabilities of its sidecar answers, with engine.role and engine.servingAddresses.',
            },
          },
          nextPageToken: { type: 'string' },
        },
      },
      handle: ({ query }) => {
        const pageToken = query.get('page_token') ?? '';
        const { workers, nextPageToken } = listWorkers(runner, {
          group: query.get('group') ?? '',
          pageToken,
        });
        return { workers: workers.map((worker) => Worker.toJSON(worker)), nextPageToken };
      },
    },
  ];
}
