import type { KnownFault } from '../known-fault.js';

/** Where the reason of a failed request is written: in the log of the worker, which names none of the frontend's lines. */
const REASONS = [
  'program_ended',
  'cache_memory_missing',
  'settings_refused',
  'library_missing',
  'connector_crashed',
  'transfer_path_broken',
  'side_channel_unreachable',
  'pair_incompatible',
  'transfers_fail',
  'dynamo_etcd_lease_expired',
  'dynamo_nats_payload_too_large',
  'dynamo_open_files_exhausted',
] as const;

const LAST_WORDS = 'kubectl logs WORKER_POD --previous | tail -60    # its first error';

/** Requests that fail in Dynamo's frontend for what happened behind it: `lib/llm` (`migration.rs`), `lib/runtime` (`push_router.rs`). */
export const DYNAMO_REQUESTS: readonly KnownFault[] = [
  // 0.4 to 0.9 write it bare, 1.0 and later with "Disconnected: " or "backend.stream_incomplete: " before it.
  {
    id: 'dynamo_answer_cut_off',
    cause: 'program_ended',
    needles: ['Stream ended before generation completed', 'Cannot recreate stream'],
    pattern:
      /Cannot recreate stream(?!.{0,80}Migration limit)|(?:nternal server error|Failed to (?:fold|generate|parse)|ERROR\b).{0,300}Stream ended before generation completed/s,
    isSign: true,
    follows: [...REASONS, 'dynamo_no_instances', 'dynamo_no_responders'],
    says: 'requests fail in the middle of their answers: the worker that computed them ended, or the connection to it',
    why: 'The frontend reads an answer over a stream of the worker, and it broke off before its last token. The reason is in the log of that worker: an engine that died, a pod that was killed, replaced or scaled down. Without a migration limit the frontend gives the request up; with one it has another worker go on.',
    cure: 'See which worker ended at the time of the line (kubectl get pods: RESTARTS), and repair the first error of its log (kubectl logs WORKER_POD --previous); for workers that are replaced on purpose set --migration-limit 3 (on the frontend from 1.0 on, on each worker before), so that another one goes on',
    commands: ['kubectl get pods -o wide    # RESTARTS, AGE', LAST_WORDS],
  },
  {
    id: 'dynamo_migrations_used_up',
    cause: 'program_ended',
    needles: ['Migration limit exhausted'],
    isSign: true,
    follows: [...REASONS, 'dynamo_no_instances', 'dynamo_no_responders', 'dynamo_answer_cut_off'],
    says: 'requests fail: each worker that they were given to ended or did not answer, as often as they may move on (--migration-limit)',
    why: 'The frontend gives a request to another worker where its own breaks off or takes no connection. It did so as often as it may. One worker that ends is healed by that; several that end one after the other as a rule have one reason, often the request itself.',
    cure: 'Repair the first error in the logs of the workers for the time of the line (kubectl logs WORKER_POD --previous); raise --migration-limit (on the frontend from 1.0 on, on each worker before) where they only restarted',
    commands: ['kubectl get pods -o wide    # RESTARTS, AGE', LAST_WORDS],
  },
  {
    id: 'dynamo_request_without_responder',
    cause: 'control_plane_unreachable',
    needles: ['no responders: no responders', 'NoResponders: no responders'],
    pattern: /(?:nternal server error|Failed to generate).{0,300}no responders/is,
    isSign: true,
    follows: [...REASONS, 'dynamo_no_responders', 'dynamo_nats_client_missing'],
    says: 'a request fails: the worker that it was sent to is registered, and does not listen at the NATS server of the frontend',
    why: 'The instance is still in the discovery backend, and nothing subscribes to its subject: the worker ended a moment ago (its registration goes after ETCD_LEASE_TTL, 10 seconds), or it has another NATS server.',
    cure: 'See whether the workers still run (kubectl get pods) and read the log of one that ended (kubectl logs WORKER_POD --previous); where all run, give the frontend and all of them the same NATS_SERVER and restart those that were there before NATS restarted; DYN_REQUEST_PLANE=tcp on all of them does without NATS for requests',
    commands: [
      'kubectl exec FRONTEND -- printenv NATS_SERVER    # as kubectl exec WORKER -- printenv NATS_SERVER',
    ],
  },
  {
    id: 'dynamo_worker_id_gone',
    cause: 'role_missing',
    needles: [' not found for endpoint '],
    pattern: /\binstance_id=(\d{1,20}) not found for endpoint ([\w./-]{1,160})/,
    isSign: true,
    follows: [...REASONS, 'dynamo_no_instances'],
    says: 'a request fails: it is for worker $1 of $2, which is not registered (any more)',
    why: 'The router, or the request itself (nvext, a header of the picker), names one worker, and the frontend sends it nowhere else. A worker that restarted has another id; one that did not answer is left out for a while.',
    cure: 'See whether a worker of $2 restarted at that time (kubectl get pods: RESTARTS) and read its log (kubectl logs WORKER_POD --previous); where requests name the worker themselves, have them take its new id, or none; restart the frontend where it goes on to choose $1',
    commands: ['kubectl get pods -o wide    # RESTARTS, AGE', LAST_WORDS],
  },
  // 0.4 to 1.1; later releases write "all eligible workers are overloaded".
  {
    id: 'dynamo_all_workers_busy',
    cause: 'cache_memory_missing',
    needles: ['All workers are busy, please retry later', 'Rejecting request: all workers are busy'],
    isSign: true,
    follows: ['dynamo_workers_above_thresholds'],
    says: 'the frontend rejects requests: all workers are above its thresholds of used KV blocks or waiting prompt tokens',
    why: 'A worker above a threshold counts as busy and gets nothing. Once all are, clients get 503. That is what the threshold is for where the fleet is full; a low one does it with room left, and a worker whose figures stay as they were (it hangs, or its metrics do not arrive) is busy for ever.',
    cure: 'Add workers, or raise the threshold on the frontend (--busy-threshold up to 0.8, --active-decode-blocks-threshold and --active-prefill-tokens-threshold later) or leave it out; where the workers are idle, restart those whose numbers do not move',
    disturbs: 'frontend',
  },
  {
    id: 'dynamo_watch_panics',
    cause: 'program_ended',
    needles: ['Unfold must not be polled after it returned'],
    says: 'a program of Dynamo has lost its watch of workers: a stream of futures-util 0.3.31 panics',
    why: 'The panic is in a package below Dynamo, up to 0.9.1, which 1.0.0 has in a later version (pull request 7346 of ai-dynamo/dynamo). The frontend runs on, knows no worker any more, and its requests hang.',
    cure: 'Run Dynamo 1.0.0 or later on frontend and workers; until then restart the frontend after the line (kubectl rollout restart deployment FRONTEND)',
    disturbs: 'frontend',
  },
  {
    id: 'dynamo_canary_times_out',
    cause: 'program_ended',
    needles: ['Health check timeout for ', 'Health check got no response from '],
    pattern: /health_check: Health check (?:timeout for|got no response from) ([\w./-]{3,160})/,
    atLeast: 3,
    isSign: true,
    follows: [...REASONS],
    says: 'a worker is taken out as not ready again and again: its own requests to $1 get no answer in time',
    why: 'A worker without traffic asks its engine for one token (DYN_HEALTH_CHECK_ENABLED) and waits DYN_HEALTH_CHECK_REQUEST_TIMEOUT, 3 seconds unless set. An engine that hangs does not answer; one that is warming up, or busy with long prompts, is late.',
    cure: 'Send the worker one request by hand: where it answers, set DYN_HEALTH_CHECK_REQUEST_TIMEOUT=30 on the worker; where it does not, its engine hangs: see the last lines of its log and restart the pod',
    commands: ['kubectl exec WORKER_POD -- curl -s localhost:$DYN_SYSTEM_PORT/health'],
  },
  {
    id: 'dynamo_worker_types_missing',
    cause: 'role_missing',
    needles: ['no namespace has all required worker types live'],
    isSign: true,
    says: 'a model of Dynamo is not ready: no namespace has both its prefill and its decode workers',
    why: 'A frontend serves a model once each role that its cards ask for has a live worker in one namespace. A worker without --disaggregation-mode takes no part in a pair, and one in another namespace is of another set.',
    cure: 'Start the role that is missing in the namespace of the other one: prefill workers with --disaggregation-mode prefill, decode workers with --disaggregation-mode decode, and the same DYN_NAMESPACE on both',
    commands: [
      'kubectl get pods -o wide; kubectl logs WORKER | grep -iE "namespace|disaggregation|regist"    # which role each worker has, and where',
    ],
  },
];
