import type { KnownFault } from '../known-fault.js';

/** Engines over several pods: how a worker finds its leader (LeaderWorkerSet, ModelServing of kthena). */
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
];
