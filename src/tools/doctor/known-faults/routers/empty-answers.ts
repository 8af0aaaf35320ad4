import type { KnownFault } from '../known-fault.js';

const WHY =
  'A router lists what has registered with it, or what its discovery found. Workers that are still loading are not there yet; others have ended, run in another namespace or with another discovery, or carry other labels.';

/** What routers answer where nobody serves behind them: the lists that `curl` shows. */
export const EMPTY_ANSWERS: readonly KnownFault[] = [
  {
    id: 'no_model_listed',
    cause: 'role_missing',
    needles: [
      '"list","data":[]}',
      '"list", "data": []}',
      '{"data": []}',
      '"data":[],"object":"list"}',
      '\\"list\\",\\"data\\":[]',
    ],
    // A list of files or batches says besides whether there are more.
    pattern: /\{(?:"object": ?"list", ?)?"data": ?\[\](?:, ?"object": ?"list")?\}/,
    healedBy: ['chat.completion', 'text_completion', 'max_model_len'],
    isSign: true,
    says: 'a frontend lists no model (/v1/models is empty): no worker has registered with it',
    why: WHY,
    cure: "Read the worker's log (kubectl logs WORKER) until it says that it serves, and give it the discovery of the frontend: with Dynamo the same DYN_NAMESPACE and ETCD_ENDPOINTS or DYN_DISCOVERY_BACKEND, with production-stack labels that its selector has",
    commands: ['curl -s http://FRONTEND:8000/v1/models', 'kubectl get pods --show-labels'],
    disturbs: 'nothing',
  },
  {
    id: 'no_worker_listed',
    cause: 'role_missing',
    needles: ['{"workers":[]', '{"workers": []', '{\\"workers\\":'],
    pattern: /\{"workers": ?\[\]/,
    healedBy: ['chat.completion', 'text_completion', 'Activated worker'],
    isSign: true,
    says: 'a router lists no worker (/workers is empty): requests to it have nowhere to go',
    why: WHY,
    cure: 'Start the router with the addresses of its workers (--worker-urls, --prefill and --decode), or correct --selector and --service-discovery-namespace of its discovery; its log says why it left a worker out',
    commands: ['curl -s http://ROUTER:30000/workers', 'kubectl get pods --show-labels'],
    disturbs: 'nothing',
  },
];
