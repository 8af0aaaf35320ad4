import type { KnownFault } from '../known-fault.js';

/** Engines over several pods or nodes: how a worker finds its leader (LeaderWorkerSet, ModelServing of kthena), and GPUs of a Ray cluster. */
export const MULTI_NODE: readonly KnownFault[] = [
  {
    id: 'multi_node_no_leader_address',
    cause: 'program_ended',
    needles: ['Missing argument --ray_address', 'Missing argument --ray_cluster_size'],
    pattern: /Missing argument --(ray_address|ray_cluster_size)/,
    says: 'a pod of an engine over several nodes has no --$1: the variable with it is empty',
    why: "multi-node-serving.sh gets the address of the leader and the size of the group from the controller's variables: LWS_LEADER_ADDRESS and LWS_GROUP_SIZE of a LeaderWorkerSet, ENTRY_ADDRESS and GROUP_SIZE of kthena. Another name, or $(NAME) of a variable that is not there, is empty in the shell.",
    cure: 'Write the command of worker pods as multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS) (LeaderWorkerSet) or --ray_address=$(ENTRY_ADDRESS) (kthena), and --ray_cluster_size=$(LWS_GROUP_SIZE) ($(GROUP_SIZE)) on the leader',
    commands: ['kubectl exec POD -- env | grep -E "LWS_|ENTRY_ADDRESS|GROUP_SIZE"'],
    disturbs: 'all_workers',
  },
  {
    id: 'ray_no_gpus_in_time',
    cause: 'program_ended',
    needles: ['Cannot provide a placement group '],
    says: 'vLLM ends: the Ray cluster does not have the GPUs that its parallel sizes need',
    why: 'tensor-parallel-size times pipeline-parallel-size GPUs have to be free in the cluster. A node that has not joined, one whose address is not its VLLM_HOST_IP, or GPUs that another engine holds are missing.',
    cure: 'Join every node before vllm serve (ray start --address=HEAD:6379 --num-gpus=N, with VLLM_HOST_IP set to the --node-ip-address of that node) until ray status shows the GPUs as free, or lower --tensor-parallel-size',
    commands: ['ray status; ray list nodes    # as many free GPUs as the parallel sizes need?'],
  },
  {
    id: 'ray_waits_for_gpus',
    cause: 'program_ended',
    needles: ['Waiting for creating a placement group of specs'],
    pattern: /of specs for (?:[3-9]\d|\d{3,5}) seconds/,
    isSign: true,
    says: 'vLLM waits for GPUs of the Ray cluster, which does not have as many free as its parallel sizes need',
    why: 'It waits for half an hour and then ends. A node has not joined, its address is not its VLLM_HOST_IP, or other engines hold the GPUs.',
    cure: 'Join every node before vllm serve (ray start --address=HEAD:6379 --num-gpus=N, with VLLM_HOST_IP set to the --node-ip-address of that node) until ray status shows the GPUs as free, or lower --tensor-parallel-size',
    commands: ['ray status; ray list nodes    # as many free GPUs as the parallel sizes need?'],
  },
  {
    id: 'ray_driver_without_gpu',
    cause: 'program_ended',
    needles: [
      'is not included in a placement group',
      'Current node has no GPU available',
      'Ray does not allocate any GPUs on the driver node',
    ],
    says: 'vLLM does not start over Ray: the node that it was started on has no free GPU in the Ray cluster',
    why: 'vllm serve needs a GPU of its own node. VLLM_HOST_IP that is not the address under which Ray knows that node looks like none; so do a head without --num-gpus, and GPUs that another engine or placement group holds.',
    cure: 'Set VLLM_HOST_IP on each node to the address that ray list nodes has for it (the --node-ip-address of ray start), start vllm serve on a node whose GPUs are free, and with Ray Serve leave the executor to mp (distributed_executor_backend: mp)',
    commands: ['ray list nodes; ray status; echo $VLLM_HOST_IP'],
  },
];
