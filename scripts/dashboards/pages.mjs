// What the dashboards show. The names of metrics are checked by the tests; each query runs against a real Prometheus.

const GROUP = 'group=~"$group"';
const WORKER = `${GROUP},worker_id=~"$worker"`;
const rate = (metric, labels) => `rate(${metric}{${labels}}[$__rate_interval])`;
const sumBy = (by, expr) => `sum by (${by}) (${expr})`;
const quantile = (part, metric, labels = GROUP) =>
  `histogram_quantile(${part}, ${sumBy('le, group', rate(`${metric}_bucket`, labels))})`;
const perWorker = (name) => sumBy('worker_id, worker', rate(`kv_accord_router_worker_${name}`, WORKER));
const workerLegend = '{{worker_id}} ({{worker}})';

const OPEN_OR_SHUT = [
  { type: 'value', options: { 0: { text: 'shut', color: 'red' }, 1: { text: 'open', color: 'green' } } },
];
const NONE_IS_GOOD = [
  { color: 'green', value: null },
  { color: 'orange', value: 1 },
];
/** The links from each page to the others. */
const linksBut = (own) =>
  [
    ['overview', 'Overview'],
    ['worker', 'Workers'],
    ['routing', 'Routing'],
  ]
    .filter(([name]) => name !== own)
    .map(([name, title]) => ({
      title,
      type: 'link',
      url: `/d/kv-accord-${name}`,
      includeVars: true,
      keepTime: true,
      asDropdown: false,
      targetBlank: false,
      icon: 'dashboard',
      tags: [],
      tooltip: '',
    }));

const overview = {
  name: 'overview',
  title: 'kv-accord / Overview',
  description: 'Whether each model is routed by exact KV caches, and why not.',
  variables: ['group'],
  pages: linksBut('overview'),
  rows: [
    {
      title: 'Agreement',
      panels: [
        {
          type: 'stat',
          title: 'Gate',
          description:
            'Open: the workers of the model agree, and requests are routed. Shut: see the reasons below.',
          width: 6,
          mappings: OPEN_OR_SHUT,
          queries: [{ expr: `min by (group) (kv_accord_gate_open{${GROUP}})`, legend: '{{group}}' }],
        },
        {
          type: 'stat',
          title: 'Agreed tokens_per_block',
          description: 'The block size that all workers of the model use.',
          width: 6,
          queries: [
            { expr: `max by (group) (kv_accord_agreed_tokens_per_block{${GROUP}})`, legend: '{{group}}' },
          ],
        },
        {
          type: 'stat',
          title: 'Workers that get no requests',
          description: 'Lost, silent, kept out or draining. kv-accord status names each, and what to do.',
          width: 6,
          steps: NONE_IS_GOOD,
          queries: [
            {
              expr: sumBy('group', `kv_accord_group_workers{${GROUP},state!="offered"}`),
              legend: '{{group}}',
            },
          ],
        },
        {
          type: 'stat',
          title: 'Ejected workers',
          description: 'Their requests failed, and others get them for a while.',
          width: 6,
          steps: NONE_IS_GOOD,
          queries: [
            {
              expr: `${sumBy('group', `kv_accord_router_worker_ejected{${GROUP}}`)} or 0 * max by (group) (kv_accord_gate_open{${GROUP}})`,
              legend: '{{group}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Workers by state',
          description: 'What the model has of its listed workers.',
          isStacked: true,
          queries: [{ expr: sumBy('state', `kv_accord_group_workers{${GROUP}}`), legend: '{{state}}' }],
        },
        {
          type: 'table',
          title: 'Why a gate is shut',
          description: 'The reasons that hold now. docs/metrics.md says what each means.',
          queries: [
            { expr: 'max by (group, reason) (kv_accord_not_ready_reasons) == 1', legend: '{{reason}}' },
          ],
        },
        {
          type: 'timeseries',
          title: 'Routing mode',
          description:
            'What decisions know of the caches: all of the workers exactly, some, by guesses, or nothing.',
          queries: [
            {
              expr: `max by (group, mode) (kv_accord_routing_mode{${GROUP}}) == 1`,
              legend: '{{group}} {{mode}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'What differs from the agreement',
          description: 'KV events and reports of another block size, by worker and evidence. Any is a fault.',
          queries: [
            {
              expr: sumBy('worker, source', rate('kv_router_block_size_mismatch_total', GROUP)),
              legend: '{{worker}} {{source}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          type: 'timeseries',
          title: 'Requests by status',
          description: 'As the clients of kv-accord frontend got them.',
          unit: 'reqps',
          isStacked: true,
          queries: [
            { expr: sumBy('status', rate('kv_accord_frontend_requests_total', GROUP)), legend: '{{status}}' },
          ],
        },
        {
          type: 'timeseries',
          title: 'Time to first byte',
          description: 'From the headers of a request to the first byte of the answer of its worker.',
          unit: 's',
          queries: [
            { expr: quantile(0.5, 'kv_accord_frontend_time_to_first_byte_seconds'), legend: '{{group}} p50' },
            {
              expr: quantile(0.99, 'kv_accord_frontend_time_to_first_byte_seconds'),
              legend: '{{group}} p99',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Cached part of prompts',
          description: 'Mean part of the blocks of a prompt that was cached.',
          unit: 'percentunit',
          max: 1,
          queries: [
            {
              expr: `${sumBy('group', rate('kv_accord_router_cached_block_ratio_sum', GROUP))} / ${sumBy('group', rate('kv_accord_router_cached_block_ratio_count', GROUP))}`,
              legend: '{{group}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Answers that ended before their end',
          description: 'Because the client left, or the worker did.',
          unit: 'reqps',
          queries: [
            {
              expr: sumBy('by', rate('kv_accord_frontend_unfinished_answers_total', GROUP)),
              legend: 'by {{by}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Index',
      panels: [
        {
          type: 'timeseries',
          title: 'KV blocks in the index',
          description: 'Different blocks, each tier by itself.',
          queries: [{ expr: sumBy('group', `kv_accord_index_blocks{${GROUP}}`), legend: '{{group}}' }],
        },
        {
          type: 'timeseries',
          title: 'KV events',
          description: 'What workers sent, and what came of it.',
          unit: 'ops',
          queries: [
            {
              expr: sumBy(
                'type, result',
                'rate(kv_accord_kv_events_total{job="kv-accord"}[$__rate_interval])',
              ),
              legend: '{{type}} {{result}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'From an engine to the index',
          description: 'From the publishing of an event to its place in the index, p99.',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.99, ${sumBy('le', 'rate(kv_accord_kv_event_lag_seconds_bucket{job="kv-accord"}[$__rate_interval])')})`,
              legend: 'p99',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Memory of the index',
          description: 'Used, or kept for use.',
          unit: 'bytes',
          queries: [{ expr: sumBy('group', `kv_accord_index_memory_bytes{${GROUP}}`), legend: '{{group}}' }],
        },
      ],
    },
  ],
};

const worker = {
  name: 'worker',
  title: 'kv-accord / Workers',
  description: 'Who gets what, and whether it comes true.',
  variables: ['group', 'worker'],
  pages: linksBut('worker'),
  rows: [
    {
      title: 'Load',
      panels: [
        {
          type: 'timeseries',
          title: 'Requests',
          description: 'Requests that the worker was chosen for, each try by itself.',
          unit: 'reqps',
          queries: [{ expr: perWorker('decisions_total'), legend: workerLegend }],
        },
        {
          type: 'timeseries',
          title: 'Requests on their way',
          description: 'To the worker, now.',
          queries: [
            {
              expr: sumBy('worker_id, worker', `kv_accord_router_worker_active_requests{${WORKER}}`),
              legend: workerLegend,
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Mean time to first token',
          description: 'From the choice of the worker to the first token of its answer.',
          unit: 's',
          queries: [
            {
              expr: `${perWorker('first_token_seconds_total')} / ${perWorker('first_tokens_total')}`,
              legend: workerLegend,
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Prompt tokens that are computed now',
          description: 'Of requests whose first token has not come, what was not cached.',
          queries: [
            {
              expr: sumBy('worker_id, worker', `kv_accord_router_worker_prefilling_tokens{${WORKER}}`),
              legend: workerLegend,
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Prompt tokens',
          description: 'As the engine reports them.',
          queries: [{ expr: perWorker('prompt_tokens_total'), legend: workerLegend }],
        },
        {
          type: 'timeseries',
          title: 'Generated tokens',
          description: 'As the engine reports them.',
          queries: [{ expr: perWorker('output_tokens_total'), legend: workerLegend }],
        },
      ],
    },
    {
      title: 'Truth',
      panels: [
        {
          type: 'timeseries',
          title: 'Cached tokens as reported',
          description: 'Prompt tokens that the engine found in its cache.',
          queries: [{ expr: perWorker('reported_cached_tokens_total'), legend: workerLegend }],
        },
        {
          type: 'timeseries',
          title: 'Reported against predicted',
          description: '1: what the router expected came true.',
          queries: [
            {
              expr: `${perWorker('reported_cached_tokens_total')} / ${perWorker('predicted_cached_tokens_total')}`,
              legend: workerLegend,
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Expected and not found',
          description: 'Prompt tokens that should have been cached and were not, for no known reason.',
          queries: [{ expr: perWorker('over_predicted_tokens_total'), legend: workerLegend }],
        },
        {
          type: 'timeseries',
          title: 'Found and not expected',
          description:
            'Prompt tokens that were cached and that the cache view did not know of, for no known reason.',
          queries: [{ expr: perWorker('under_predicted_tokens_total'), legend: workerLegend }],
        },
      ],
    },
    {
      title: 'Faults',
      panels: [
        {
          type: 'timeseries',
          title: 'Failed requests',
          description: 'By what was seen of the worker.',
          unit: 'reqps',
          queries: [
            {
              expr: sumBy(
                'worker_id, worker, seen',
                rate('kv_accord_router_worker_failed_requests_total', WORKER),
              ),
              legend: `${workerLegend} {{seen}}`,
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Ejected or doubted',
          description:
            '1 while the worker gets no requests because they fail, or while its results contradict its cache view.',
          queries: [
            { expr: `kv_accord_router_worker_ejected{${WORKER}} == 1`, legend: `${workerLegend} ejected` },
            { expr: `kv_accord_router_worker_doubted{${WORKER}} == 1`, legend: `${workerLegend} doubted` },
          ],
        },
      ],
    },
    {
      title: 'Sidecars',
      panels: [
        {
          type: 'table',
          title: 'tokens_per_block by sidecar',
          description: 'As each engine has it.',
          queries: [{ expr: 'max by (instance) (kv_accord_tokens_per_block)', legend: '{{instance}}' }],
        },
        {
          type: 'timeseries',
          title: 'Cache views that are not exact',
          description: 'What is known of what a rank holds.',
          queries: [
            {
              expr: 'max by (instance, rank, picture) (kv_accord_kv_picture{picture!="exact"}) == 1',
              legend: '{{instance}} rank {{rank}} {{picture}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'KV blocks by sidecar',
          description: 'Blocks that the ranks of the engine are known to hold, in all tiers.',
          queries: [{ expr: 'sum by (instance) (kv_accord_kv_blocks)', legend: '{{instance}}' }],
        },
        {
          type: 'timeseries',
          title: 'Gaps in KV events',
          description: 'By how they ended.',
          queries: [
            {
              expr: 'sum by (instance, outcome) (rate(kv_accord_kv_gaps_total{job="kv-accord-sidecar"}[$__rate_interval]))',
              legend: '{{instance}} {{outcome}}',
            },
          ],
        },
      ],
    },
  ],
};

const tokens = (name) => sumBy('group', rate(`kv_accord_router_${name}_cached_tokens_total`, GROUP));

const routing = {
  name: 'routing',
  title: 'kv-accord / Routing',
  description: 'What decisions know, what they win, and what is lost.',
  variables: ['group'],
  pages: linksBut('routing'),
  rows: [
    {
      title: 'Decisions',
      panels: [
        {
          type: 'timeseries',
          title: 'Decisions by what was known',
          description: 'exact: the cache of every worker; load_only: tokens or caches were not known.',
          unit: 'reqps',
          isStacked: true,
          queries: [
            { expr: sumBy('mode', rate('kv_accord_router_decisions_total', GROUP)), legend: '{{mode}}' },
          ],
        },
        {
          type: 'timeseries',
          title: 'Time of a decision',
          description: 'The hashing of the prompt included.',
          unit: 's',
          queries: ['0.5', '0.99'].map((part) => ({
            expr: `histogram_quantile(${part}, ${sumBy('le', 'rate(kv_accord_router_decision_seconds_bucket[$__rate_interval])')})`,
            legend: `p${Number(part) * 100}`,
          })),
        },
        {
          type: 'timeseries',
          title: 'Requests without tokens',
          description:
            'Their tokens could not be had, so that load alone decided. docs/tokens.md says what each reason means.',
          unit: 'reqps',
          queries: [
            {
              expr: sumBy('reason', rate('kv_accord_frontend_requests_without_tokens_total', GROUP)),
              legend: '{{reason}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Requests on their way',
          description: 'To all workers of the model.',
          queries: [
            { expr: sumBy('group', `kv_accord_router_active_requests{${GROUP}}`), legend: '{{group}}' },
          ],
        },
      ],
    },
    {
      title: 'Cached tokens',
      panels: [
        {
          type: 'timeseries',
          title: 'Best, chosen and reported',
          description:
            'Cached prompt tokens at the best worker, at the chosen one, and as engines report them.',
          queries: [
            { expr: tokens('best'), legend: '{{group}} best of all workers' },
            { expr: tokens('chosen'), legend: '{{group}} chosen worker' },
            { expr: tokens('actual'), legend: '{{group}} reported' },
          ],
        },
        {
          type: 'timeseries',
          title: 'Used part of what was cached',
          description: '1: every request used all that any worker had cached for it.',
          unit: 'percentunit',
          queries: [{ expr: `${tokens('actual')} / ${tokens('best')}`, legend: '{{group}}' }],
        },
        {
          type: 'timeseries',
          title: 'Lost tokens by reason',
          description: 'Cached prompt tokens that were not used. docs/router.md says what each reason means.',
          isStacked: true,
          queries: [
            {
              expr: sumBy('reason', rate('kv_accord_router_lost_cached_tokens_total', GROUP)),
              legend: '{{reason}}',
            },
          ],
        },
        {
          type: 'timeseries',
          title: 'Requests that lost a hit',
          description: 'By the same reasons.',
          unit: 'reqps',
          isStacked: true,
          queries: [
            { expr: sumBy('reason', rate('kv_accord_router_lost_hits_total', GROUP)), legend: '{{reason}}' },
          ],
        },
      ],
    },
  ],
};

/** The pages, by their files' names. */
export const pages = [overview, worker, routing];
