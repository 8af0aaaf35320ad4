import type { KnownFault } from '../known-fault.js';

/** Dynamo's endpoint pickers: the plugins in Go, and the one in Rust (`deploy/inference-gateway/ext-proc`). */
export const DYNAMO_PICKER: readonly KnownFault[] = [
  {
    id: 'dynamo_picker_tokenizer',
    cause: 'prompts_not_scored',
    needles: ['Tokenization Render failed'],
    pattern: /Tokenization Render failed(?:.{0,100}? error="?(.{3,110}?)"?$)?/,
    atLeast: 5,
    says: "Dynamo's endpoint picker gets no tokens of prompts from its tokenizer",
    why: 'The picker without a runtime of its own has a vLLM server turn prompts into tokens. Without them it cannot look for blocks, and requests fail.',
    cure: 'Start a vLLM server with the model of the pool at DYN_EPP_TOKENIZER_SERVICE_URL, under the name of DYN_MODEL_NAME, and open its port to the picker',
    commands: [
      'kubectl exec PICKER -- sh -c "env | grep DYN_EPP_TOKENIZER"    # then curl its /v1/models from another pod',
    ],
    disturbs: 'frontend',
  },
  {
    id: 'dynamo_picker_watch_fails',
    cause: 'control_plane_unreachable',
    needles: ['InferencePool watch error; retrying', 'Pod reflector watch error; retrying'],
    pattern: /(InferencePool|Pod reflector) watch error; retrying error="?(.{3,110}?)"?(?: pool=|$)/,
    atLeast: 5,
    follows: ['epp_may_not_list'],
    says: "Dynamo's endpoint picker cannot follow its $1 in Kubernetes: $2",
    why: 'It knows its pool and the pods of it only by what Kubernetes reports, and goes on with what it had before.',
    cure: 'Install the CRDs of the Gateway API Inference Extension (inferencepools.inference.networking.k8s.io, v1) where the error is a 404, and create the pool of DYN_EPP_INFERENCE_POOL_NAME in the namespace of the picker',
    commands: ['kubectl get crd | grep inferencepool; kubectl get inferencepools -A'],
    disturbs: 'nothing',
  },
  {
    id: 'dynamo_picker_leaves_worker_out',
    cause: 'workers_rejected',
    needles: ['Selector reconcile failed; will retry on next change'],
    pattern: /Selector reconcile failed; will retry on next change error="?(.{3,110}?)"?$/,
    atLeast: 3,
    says: "Dynamo's endpoint picker does not take workers of its pool over: $1",
    why: 'It tries again only when a pod of the pool changes. Until then the workers that the error is of get no requests.',
    cure: 'Give all pods of the pool one model, block size and number of data parallel ranks, and repair what the error names ($1); a restart of the picker has it try again',
    disturbs: 'frontend',
  },
  {
    id: 'dynamo_picker_finds_no_worker',
    cause: 'role_missing',
    needles: ['FFI decode routing failed', 'FFI prefill routing failed'],
    pattern: /FFI (decode|prefill) routing failed/,
    atLeast: 5,
    says: "Dynamo's endpoint picker finds no $1 worker for requests",
    why: 'Its router has no worker of this role that it may use: none has registered, all are above their thresholds, or pods of the pool have the labels of no worker. The lines of the router just before say which.',
    cure: 'Start $1 workers of the model in the DYN_NAMESPACE of the picker, with its discovery backend, and see that their pods have the labels of the InferencePool',
    commands: ['kubectl get dynamoworkermetadatas -A    # one for each worker that registered'],
  },
];
