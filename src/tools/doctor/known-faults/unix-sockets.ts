import type { KnownFault } from './known-fault.js';

/** Attempts after which a socket does not come any more: a daemon beside it may start a moment later. */
const LASTING = 3;

const LOOK =
  'kubectl exec POD -- ls -ld $1 && kubectl exec POD -- id    # the socket (s…), its owner, and the user of the process';

/**
 * Sockets in the file system, by which processes of one host speak with each other: Vineyard, llm-d's tokenizer, Redis, ZeroMQ's
 * ipc, the daemons below containers. A path that is not there, a file that a dead daemon left, and a user who may not use it are
 * three faults; no address, port or policy of a network has to do with them.
 */
export const UNIX_SOCKETS: readonly KnownFault[] = [
  // "Connection to IPC socket failed for pathname P with ret = IOError: Cannot connect to P: No such file or directory, retrying 8 more times."
  {
    id: 'vineyard_socket_missing',
    cause: 'offload_failed',
    needles: ['Connection to IPC socket failed for '],
    pattern: /IPC socket failed for pathname (\/\S{1,150}) with ret = .{0,200}No such file or directory/,
    atLeast: LASTING,
    says: "Vineyard's socket $1 is not there: no vineyardd runs on this node, or its folder is not mounted",
    why: "An engine shares memory with the vineyardd of its own node, and finds it by a file. Pods have file systems of their own: the folder of the socket has to be one volume of both. Without it the client asks Vineyard's RPC endpoint, where it was given one, and copies each block over the network.",
    cure: "Run vineyardd on the node of the engine (a DaemonSet, or pod affinity), and mount the folder in which it makes $1 into both pods (hostPath); the engine's path is AIBRIX_LLM_KV_CACHE_SOCKET or VINEYARD_IPC_SOCKET",
    commands: [
      'kubectl get pods -A -o wide | grep -iE "vineyard|kvcache"    # one on the node of the engine',
      LOOK,
    ],
  },
  {
    id: 'vineyard_socket_refused',
    cause: 'offload_failed',
    needles: ['Connection to IPC socket failed for '],
    pattern: /IPC socket failed for pathname (\/\S{1,150}) with ret = .{0,200}Connection refused/,
    atLeast: LASTING,
    says: "nobody listens at Vineyard's socket $1: the vineyardd that made it has ended",
    why: 'The file of a socket stays behind when its process ends. A vineyardd that starts again makes another one, which a pod sees only where the folder is mounted, and not the file alone.',
    cure: 'Start vineyardd on this node again and see why it ended (kubectl logs --previous); mount the folder of $1 into the engine, and not that file (no subPath)',
    commands: ['kubectl get pods -A -o wide | grep -iE "vineyard|kvcache"    # RESTARTS on this node', LOOK],
  },
  {
    id: 'vineyard_socket_forbidden',
    cause: 'offload_failed',
    needles: ['Connection to IPC socket failed for '],
    pattern: /IPC socket failed for pathname (\/\S{1,150}) with ret = .{0,200}Permission denied/,
    atLeast: LASTING,
    says: "the engine may not use Vineyard's socket $1",
    why: 'To connect, a process has to be allowed to write to the file. vineyardd made it as another user.',
    cure: 'Run engine and vineyardd as the same user or group (securityContext: runAsUser, runAsGroup), or start vineyardd with a umask that lets the group write to $1',
    commands: [LOOK],
  },
  // Go's "dial unix P: connect: permission denied", as gRPC passes it on.
  {
    id: 'tokenizer_socket_forbidden',
    cause: 'prompts_not_scored',
    needles: ['connect: permission denied'],
    pattern: /dial unix:?(?:\/\/)? ?(\/\S{0,120}token\S{0,60}): connect: permission denied/,
    says: "llm-d's picker may not use the socket of its tokenizer, $1",
    why: 'To connect, a process has to be allowed to write to the file. The tokenizer beside it runs as another user.',
    cure: 'Give the pod of the picker one fsGroup (securityContext), and both containers the same runAsUser, so that both may write to the folder of $1',
    commands: [
      'kubectl get pod PICKER -o yaml | grep -A6 securityContext    # of the pod and of both containers',
    ],
    disturbs: 'frontend',
  },
  {
    id: 'tokenizer_socket_refused',
    cause: 'prompts_not_scored',
    needles: ['connect: connection refused'],
    pattern: /dial unix:?(?:\/\/)? ?(\/\S{0,120}token\S{0,60}): connect: connection refused/,
    atLeast: LASTING,
    says: "nobody listens at the socket of llm-d's tokenizer, $1: the tokenizer that made it has ended",
    why: 'The file of a socket stays behind in the shared folder when its process ends. Without tokens each prompt goes by load.',
    cure: 'See why the tokenizer beside the picker ended (kubectl logs PICKER -c TOKENIZER --previous: no memory for the tokenizers, a model that it may not read), and restart the pod',
    commands: ['kubectl describe pod PICKER | grep -A4 "Last State"    # OOMKilled, exit code'],
    disturbs: 'frontend',
  },
  // redis-py: "Error 2 connecting to unix socket: /var/run/redis.sock. No such file or directory."
  {
    id: 'redis_socket_unusable',
    cause: 'offload_failed',
    needles: ['connecting to unix socket: /'],
    pattern:
      /connecting to unix socket: (\/\S{1,150})\. (No such file or directory|Connection refused|Permission denied)/,
    says: 'Redis or Valkey is not reached at its socket $1: $2',
    why: 'Such a socket leads to a server of the same host alone. "No such file" is a server that does not run there or a folder that is not mounted, "refused" the file of one that has ended, "denied" a file of another user.',
    cure: 'Run Redis or Valkey on this host with "unixsocket $1" and "unixsocketperm 770", its folder mounted into the engine and both in one group; where it runs elsewhere give the engine redis://HOST:6379',
    commands: [LOOK],
  },
  // pyzmq: "zmq.error.ZMQError: No such file or directory (addr='ipc:///run/vllm/8f3…')", of a socket that is bound.
  {
    id: 'zmq_socket_folder',
    cause: 'program_ended',
    needles: [" (addr='ipc:///"],
    pattern:
      /(No such file or directory|Permission denied|Read-only file system|No space left on device) \(addr='ipc:\/\/(\/[^'\n]{1,150})'/,
    says: 'a program cannot make its socket $2: $1',
    why: 'Processes of one engine speak with each other over sockets in a folder of their container, as a rule that of temporary files. It has to be there, and writable for the user of the process.',
    cure: 'Mount a writable emptyDir at the folder of $2 (readOnlyRootFilesystem and runAsUser take it away), or name one that is writable: TMPDIR, for vLLM also VLLM_RPC_BASE_PATH',
    commands: ['kubectl exec POD -- sh -c "id; df -h /tmp; touch /tmp/x && echo writable"'],
  },
  // runc: "failed to fulfil mount request: open /run/nvidia-persistenced/socket: no such file or directory".
  {
    id: 'persistence_socket_missing',
    cause: 'program_ended',
    needles: ['nvidia-persistenced/socket: no such '],
    says: "a container with a GPU does not start: the socket of NVIDIA's persistence daemon is not on its node",
    why: 'The container runtime mounts /run/nvidia-persistenced/socket into each such container. It is gone where the daemon ended, as a rule with an update of the driver without a restart of the node: files of another driver release are missing next.',
    cure: 'Start the daemon on the node (systemctl restart nvidia-persistenced); after an update of the driver restart the node, and where CDI is used write its list again: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
    commands: [
      'systemctl status nvidia-persistenced; nvidia-smi    # on the node: "Driver/library version mismatch" asks for a restart of the node',
    ],
  },
  {
    id: 'container_runtime_socket',
    cause: 'program_ended',
    needles: ['containerd.sock: connect: ', 'crio.sock: connect: ', 'docker.sock: connect: '],
    pattern:
      /dial unix:?(?:\/\/)? ?(\/\S{1,80}(?:containerd|crio|docker)\.sock): connect: (no such file or directory|connection refused|permission denied)/,
    atLeast: LASTING,
    says: 'the container runtime of a node is not reached at $1: $2',
    why: 'Nobody starts containers there without it. "No such file" and "refused" are a runtime that does not run or another path than its own, "denied" a user who may not.',
    cure: 'Start the runtime on the node (systemctl restart containerd, its reason in journalctl -u containerd), or name the socket that it has; for "denied" run the command as root or in the group of the socket',
    commands: [
      'systemctl status containerd crio docker 2>/dev/null | grep -E "●|Active"    # on the node',
      'ls -l $1',
    ],
    disturbs: 'nothing',
  },
];
