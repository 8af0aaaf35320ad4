import type { KnownFault } from '../known-fault.js';

/** What Kubernetes, Dynamo's operator and Grove say of a deployment (DynamoGraphDeployment) that makes no pods: `deploy/operator`. */
export const DYNAMO_OPERATOR: readonly KnownFault[] = [
  {
    id: 'dynamo_operator_webhook',
    cause: 'control_plane_unreachable',
    needles: ['failed calling webhook '],
    pattern:
      /failed calling webhook \\?"([\w.-]{0,80}dynamo[\w.-]{0,80})\\?".{0,300}?(onnection refused|no endpoints available|deadline exceeded|no such host|x509: [\w ]{1,60}|i\/o timeout|not found)/s,
    says: "a deployment of Dynamo is refused: Kubernetes does not reach the webhook of Dynamo's operator ($2)",
    why: 'The API server asks the operator before it takes a DynamoGraphDeployment, and refuses all of them while it gets no answer: the operator has one replica, and restarts, is not ready yet, or its certificate was made for another release.',
    cure: "Wait until the operator's pod is ready and apply again (kubectl rollout status deployment -n NAMESPACE, its log says why it is not); where it is ready, see that its webhook service has endpoints and that no policy blocks port 9443 from the API server; with x509 upgrade the chart (helm upgrade dynamo-platform), which makes another certificate",
    commands: [
      'kubectl get pods -A | grep dynamo-operator',
      'kubectl get endpoints -A | grep -i webhook    # an address for each service',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'grove_webhook',
    cause: 'control_plane_unreachable',
    needles: ['failed calling webhook '],
    pattern:
      /failed calling webhook \\?"([\w.-]{1,80}grove\.io)\\?".{0,300}?(onnection refused|no endpoints available|deadline exceeded|no such host|x509: [\w ]{1,60}|i\/o timeout|not found)/s,
    says: 'a deployment of Dynamo makes no pods: Kubernetes does not reach the webhook of Grove ($2)',
    why: "Dynamo's operator makes a PodCliqueSet of Grove, which Kubernetes takes only after Grove has answered. Grove has one replica, which restarts as its certificate is renewed.",
    cure: 'Wait until the pod of grove-operator is ready: the operator of Dynamo tries again by itself; where it does not get ready, read its log, or set the annotation nvidia.com/enable-grove: "false" on the DynamoGraphDeployment of one node',
    commands: ['kubectl get pods -A | grep grove-operator', 'kubectl get endpoints -A | grep grove'],
    disturbs: 'nothing',
  },
];
