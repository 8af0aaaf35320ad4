/** How the Kubernetes API server is reached: the same for every command that asks one. */
export const kubeSettings = {
  kubeconfig: {
    kind: 'file',
    mustBe: 'file',
    defaultHelp: 'KUBECONFIG, else the service account of this pod, else ~/.kube/config',
    group: 'Kubernetes',
    help: 'How to reach the Kubernetes API server.',
  },
  'kube-context': {
    kind: 'string',
    group: 'Kubernetes',
    placeholder: 'NAME',
    defaultHelp: 'its current-context',
    help: 'The context of the kubeconfig to use.',
  },
} as const;
