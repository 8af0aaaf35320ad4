import type { KnownFault } from '../known-fault.js';

/** What the scheduler says where no node takes a pod, and what shows that one has taken it, or is on its way. */
const NO_NODE = 'nodes are available: ';
const HEALED_BY = ['Successfully assigned ', 'triggered scale-up', 'Pod should schedule on'];
/** Up to the reasons of the nodes, of which the first that decides is taken. */
const NODES = String.raw`\b0\/\d{1,6} nodes are available: (?:[^\n]{0,600}?[\s,])??`;

/** Why a pod of an engine, router or picker has no node: events of Kubernetes' scheduler, volumes and controllers of sets. */
export const POD_PLACES: readonly KnownFault[] = [
  {
    id: 'pod_lacks_gpus',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(
      `${NODES}\\d{1,6} Insufficient ([\\w.-]{1,60}\\/(?:[\\w-]{0,60}gpu[\\w-]{0,60}|mig-[\\w.]{1,60}\\w|npu|[\\w-]{0,40}Ascend[\\w-]{1,40}))`,
    ),
    healedBy: HEALED_BY,
    follows: ['pod_volume_elsewhere', 'pod_claim_missing'],
    says: 'a pod waits for a node: no node has as many $1 free as it asks for',
    why: 'Nodes offer GPUs through the device plugin of their vendor. Without it a node has none for Kubernetes; otherwise those that there are belong to pods already, with a rolling update also to the old pod of the same Deployment.',
    cure: 'See what nodes have and what is taken (the command below). Where Allocatable has no $1, install its device plugin (GPU operator); where pods have them, end those (strategy: {type: Recreate} where it is the old pod of the same Deployment), add a node, or ask for fewer: $1 in resources.limits together with --tensor-parallel-size',
    commands: ['kubectl describe nodes | grep -E "^Name:|$1"    # Capacity, Allocatable, Allocated'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_lacks_devices',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(
      `${NODES}\\d{1,6} Insufficient (?![\\w.-]{1,60}\\/(?:[\\w.-]{0,60}gpu|mig-|npu|[\\w-]{0,40}Ascend))([\\w.-]{1,60}\\/[\\w.-]{0,60}\\w|hugepages-\\w{2,8})`,
    ),
    healedBy: HEALED_BY,
    follows: ['pod_lacks_gpus'],
    says: 'a pod waits for a node: no node has the $1 that it asks for',
    why: 'A resource with a name of that kind comes from a device plugin on each node (RDMA and SR-IOV: the one of the network operator, EFA: the one of AWS; hugepages from the kernel of the node). The name stands in the configuration of the plugin, and is another one in each cluster.',
    cure: 'Ask for the name that nodes have in their Allocatable in place of $1 (resources.limits of the pod), install the device plugin that gives it, or leave it out where KV blocks go over TCP',
    commands: [
      'kubectl get nodes -o jsonpath=\'{range .items[*]}{.metadata.name} {.status.allocatable}{"\\n"}{end}\'',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'pod_lacks_cpu_or_memory',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(`${NODES}\\d{1,6} Insufficient (cpu|memory|ephemeral-storage)\\b`),
    healedBy: HEALED_BY,
    follows: ['pod_lacks_gpus', 'pod_lacks_devices'],
    says: 'a pod waits for a node: no node has as much $1 free as it requests',
    why: 'Kubernetes counts requests, not use: what requests of the pods of a node leave of its allocatable $1 is less than resources.requests.$1 of this pod (charts of inference servers ask for what a large node has).',
    cure: 'Lower resources.requests.$1 of the pod (values of the chart) below what the largest node has left, or add a larger node',
    commands: ['kubectl describe nodes | grep -E -A8 "^Name:|Allocated resources"'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_selects_no_node',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(
      `${NODES}\\d{1,6} node\\(s\\) didn't match (Pod's node affinity\\/selector|node selector|pod affinity rules|pod anti-affinity rules)`,
    ),
    healedBy: HEALED_BY,
    follows: ['pod_lacks_gpus', 'pod_lacks_devices', 'pod_lacks_cpu_or_memory'],
    says: 'a pod waits for a node: nodes do not match its rules ($1)',
    why: 'nodeSelector and nodeAffinity name labels that nodes must have (a GPU product, a pool), pod rules ask for a node with or without certain pods. No node that could take it fits.',
    cure: 'Set nodeSelector and affinity of the pod to labels that the GPU nodes have (the command below), give nodes the label (kubectl label node NODE KEY=VALUE), or take the rule out of the values of the chart',
    commands: [
      'kubectl get nodes --show-labels; kubectl get pod POD -o yaml | grep -A12 -E "nodeSelector|affinity"',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'pod_volume_elsewhere',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(
      `${NODES}\\d{1,6} node\\(s\\) (?:had volume node affinity conflict|didn't match PersistentVolume's node affinity)`,
    ),
    healedBy: HEALED_BY,
    says: 'a pod waits for a node: its volume lives in another zone or on another node than those that could take it',
    why: 'A disk of a cloud belongs to one zone, a local volume to one node. The claim was bound there before the pod was placed.',
    cure: 'Delete the claim and make it again with a StorageClass of volumeBindingMode: WaitForFirstConsumer (the volume is made where the pod goes), or use a class of files that all nodes reach (ReadWriteMany)',
    commands: ['kubectl get pv -o yaml | grep -A8 nodeAffinity; kubectl get sc'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_claim_missing',
    cause: 'program_ended',
    needles: [NO_NODE],
    pattern: new RegExp(`${NODES}persistentvolumeclaim \\\\{0,3}"([\\w.-]{1,150})\\\\{0,3}" not found`),
    healedBy: HEALED_BY,
    says: 'a pod waits for a node: its PersistentVolumeClaim $1 is not there',
    why: 'The volume with the weights or the cache names a claim in the namespace of the pod, which nobody has made.',
    cure: 'Create the PersistentVolumeClaim $1 in the namespace of the pod, or correct its name in the values of the chart (modelArtifacts pvc://, pvcStorage, volumes)',
    commands: ['kubectl get pvc -n NAMESPACE'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_claim_unbound',
    cause: 'program_ended',
    needles: [
      'pod has unbound immediate PersistentVolumeClaims',
      'for this claim and no storage class is set',
    ],
    healedBy: HEALED_BY,
    says: 'a pod waits for a node: its PersistentVolumeClaim is bound to no volume',
    why: 'No StorageClass makes a volume for the claim: the class that it names is not there, or it names none and the cluster has no default one; or the class cannot give its access mode (ReadWriteMany).',
    cure: 'Name a StorageClass of the cluster in the claim (storageClassName; storageClass in the values of the chart), or mark one as the default, with an access mode that it can give; then delete the claim, which is made again',
    commands: ['kubectl get pvc,sc; kubectl describe pvc CLAIM | tail -5'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_untolerated_taint',
    cause: 'program_ended',
    needles: [NO_NODE],
    // Nodes of the control plane and those that are not ready are no places for it; what other nodes say counts first.
    pattern: new RegExp(
      `${NODES}\\d{1,6} node\\(s\\) had untolerated taint \\{(?!node-role\\.kubernetes\\.io|node\\.kubernetes\\.io|node\\.cloudprovider)([^:}=\\s]{1,120})`,
    ),
    healedBy: HEALED_BY,
    follows: [
      'pod_lacks_gpus',
      'pod_lacks_devices',
      'pod_lacks_cpu_or_memory',
      'pod_selects_no_node',
      'pod_volume_elsewhere',
    ],
    says: 'a pod waits for a node: it does not tolerate the taint $1 of nodes',
    why: 'Nodes with GPUs are tainted so that other pods stay away. A pod goes there only with a toleration of that key.',
    cure: 'Add to tolerations of the pod (values of the chart): {key: $1, operator: Exists}',
    commands: ['kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints'],
    disturbs: 'nothing',
  },
  {
    id: 'pod_volume_held',
    cause: 'program_ended',
    needles: ['Multi-Attach error for volume'],
    pattern: /Multi-Attach error for volume \\{0,3}"([\w.-]{1,150})\\{0,3}" Volume is already/,
    healedBy: ['AttachVolume.Attach succeeded'],
    says: 'a pod does not start: its volume $1 is attached to another node',
    why: 'A claim with ReadWriteOnce is for one node. The old pod of a rolling update holds it, or replicas share one claim over several nodes.',
    cure: 'Use a claim with accessModes: [ReadWriteMany] for weights that several replicas read, or strategy: {type: Recreate} with one replica',
    disturbs: 'nothing',
  },
  {
    id: 'pod_pending',
    cause: 'program_ended',
    needles: ['Pending   0 '],
    // As kubectl lists pods; for a minute or two each new one is.
    pattern:
      /(?:^|\s)([a-z0-9][\w.-]{1,253})\s{1,80}0\/\d{1,3}\s{1,20}Pending\s{1,12}0\s{1,24}((?:[3-9]|[1-9]\d{1,3})m(?:\d{1,2}s)?|\d{1,4}[hd]\S{0,6})\b/,
    healedBy: HEALED_BY,
    isSign: true,
    follows: [
      'pod_lacks_gpus',
      'pod_lacks_devices',
      'pod_lacks_cpu_or_memory',
      'pod_selects_no_node',
      'pod_volume_elsewhere',
      'pod_claim_missing',
      'pod_claim_unbound',
      'pod_untolerated_taint',
    ],
    says: 'the pod $1 has waited for a node for $2',
    why: 'No node has what it asks for (GPUs, memory, a label, a volume). The event FailedScheduling of the pod counts the nodes by reason.',
    cure: 'Read that event (kubectl describe pod $1) and give it to the doctor: "Insufficient nvidia.com/gpu" wants a node with free GPUs, "affinity/selector" the labels of a node, "untolerated taint" a toleration, "unbound PersistentVolumeClaims" a StorageClass',
    commands: ['kubectl describe pod $1 | grep -A3 FailedScheduling'],
    disturbs: 'nothing',
  },
];
