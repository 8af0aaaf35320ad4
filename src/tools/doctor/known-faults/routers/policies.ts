import type { KnownFault } from '../known-fault.js';

const WHY =
  'Requests with one beginning go to another engine each time, which computes it again; with N engines a conversation meets its blocks in one of N requests.';

/** Policies of routers that do not look at caches, as they say them when they start. */
export const POLICIES: readonly KnownFault[] = [
  {
    id: 'production_stack_goes_round',
    cause: 'not_kv_routing',
    needles: ['Initializing round-robin routing logic'],
    isSign: true,
    mayBeMeant: true,
    says: "The production stack's router sends requests in turn (roundrobin), and does not look at what engines have cached",
    why: WHY,
    cure: 'Start the router with --routing-logic prefixaware (routerSpec.routingLogic of the Helm chart); kvaware, which asks the LMCache controller, or session with --session-key HEADER for conversations',
    disturbs: 'frontend',
  },
  {
    id: 'sglang_router_without_caches',
    cause: 'not_kv_routing',
    needles: ['| policy: RoundRobin', '| policy: Random', '| policy: PowerOfTwo'],
    pattern: /\| policy: (RoundRobin|Random|PowerOfTwo)/,
    isSign: true,
    mayBeMeant: true,
    says: 'The router chooses engines by $1, and does not look at what they have cached',
    why: WHY,
    cure: 'Start the router with --policy cache_aware (for pairs --prefill-policy cache_aware)',
    disturbs: 'frontend',
  },
  {
    id: 'sglang_mini_lb_random',
    cause: 'not_kv_routing',
    needles: ['[MiniLB] Overriding policy to random'],
    isSign: true,
    mayBeMeant: true,
    says: 'The router runs as --mini-lb, which has no policy but random: the --policy that it was given is dropped',
    why: `MiniLB is a load balancer to debug pairs with. ${WHY}`,
    cure: 'Start the router without --mini-lb (sglang_router.launch_router --pd-disaggregation --policy cache_aware --prefill … --decode …)',
    disturbs: 'frontend',
  },
  // vllm-router and smg, of the policy that a worker asks for as it is added.
  {
    id: 'router_policy_unknown',
    cause: 'not_kv_routing',
    needles: ["Unknown policy type '"],
    pattern: /Unknown policy type '([^']{1,40})', using default/,
    isSign: true,
    says: 'The router does not know the policy $1, and takes its default for that model',
    why: WHY,
    cure: 'Write cache_aware, or kv_aware where the router has it, in place of $1, or set --policy of the router to it',
    disturbs: 'frontend',
  },
];
