import type { FleetView, GroupView, MemberView } from '../agreement/snapshot.js';
import { sourceWords } from '../agreement/snapshot.js';
import { Agreement, Worker } from '../gen/kvaccord/v1/fleet.js';
import type { ApiRoute } from '../http/api.js';
import { ApiError } from '../http/api.js';
import type { StatusContent, StatusTable, Tone } from '../http/status-page.js';
import type { AgreementBoard } from './agreement-board.js';
import type { FleetRunner } from './fleet-runner.js';
import { listWorkers } from './fleet-service.js';

/** The status page of an aggregator. */
export function fleetStatus(view: FleetView): StatusContent {
  const closed = view.groups.filter(({ ready }) => !ready);
  const reasons = [...view.reasons, ...closed.flatMap((group) => group.reasons)].map(({ text }) => text);
  const isOpen = view.groups.length > 0 && closed.length === 0;
  const isPartial = view.groups.some(({ partialReason }) => partialReason !== '');
  return {
    title: 'kv-accord aggregator',
    headline: {
      text: isOpen ? view.groups.map(openWords).join('\n') : reasons.join('\n'),
      tone:
        isOpen && !isPartial
          ? 'good'
          : view.groups.some(({ state }) => state === 'conflict')
            ? 'bad'
            : 'warn',
    },
    facts: [
      ['Models', String(view.groups.length)],
      [
        'Workers',
        String(view.groups.reduce((sum, { members }) => sum + members.length, view.unassigned.length)),
      ],
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

function openWords({ group, members, values, epoch, partialReason }: GroupView): string {
  const partial = partialReason === '' ? '' : `; partial: ${partialReason}`;
  return `${group}: gate open, ${values?.tokens_per_block ?? 0} tokens per block, ${members.length} workers, epoch ${epoch}${partial}`;
}

const TONES: Readonly<Partial<Record<MemberView['state'], Tone>>> = {
  conforming: 'good',
  verified: 'good',
  dissenting: 'bad',
  incomplete: 'warn',
  lost: 'warn',
};

function byTarget(a: MemberView, b: MemberView): number {
  return a.target < b.target ? -1 : 1;
}

function membersTable(title: string, members: readonly MemberView[]): StatusTable {
  return {
    title,
    columns: ['Worker', 'State', 'Tokens per block', 'From', 'Requests', 'Picture', 'Why'],
    rows: [...members]
      .sort(byTarget)
      .map((member) => [
        member.target,
        { text: member.state, tone: TONES[member.state] ?? 'plain' },
        member.tokensPerBlock === undefined ? '' : String(member.tokensPerBlock),
        sourceWords(member),
        member.offer === 'full' ? 'yes' : member.offer === 'load_only' ? 'load only' : 'no',
        member.picture ?? '',
        member.reason || member.pictureReason,
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
