import type { Repair } from './repair.js';

/** "('0.0.0.0', 8000): address already in use", "tcp://*:5557", "port: 29500", "address ::1:30000". */
const PORT =
  /(?:\('[\w.:*]{0,60}', (?=\d)|\btcp:\/\/[^\s:/]{1,60}:|\b[Pp]ort:? ?=? ?(?=\d)|\b(?:\d{1,3}\.){3}\d{1,3}:|\[::\]:)(\d{2,5})\b/;
/** Whose port it is unless another one is set, and how. Source: the defaults of each program. */
const SETTINGS: Readonly<Record<string, string>> = {
  '2379': '--listen-client-urls of etcd',
  '4222': '--port of NATS',
  '5555': '--port of lmcache server, and "lmcache.mp.port" in kv_connector_extra_config',
  '5557':
    'the endpoint in --kv-events-config, or VLLM_NIXL_SIDE_CHANNEL_PORT, which is 5557 too before vLLM 0.11',
  '5570': 'VLLM_RPC_PORT of vLLM before 0.6, one for each server of a host',
  '5600': 'VLLM_NIXL_SIDE_CHANNEL_PORT, from which ranks count up',
  '6379': '--port of Redis or of ray start',
  '6999': 'LMCACHE_INTERNAL_API_SERVER_PORT_START',
  '8998':
    '--disaggregation-bootstrap-port of SGLang, VLLM_MOONCAKE_BOOTSTRAP_PORT of vLLM with MooncakeConnector',
  '9003': '--metrics_port of mooncake_master',
  '14579': 'kv_port in --kv-transfer-config',
  // Where PyTorch's ranks of one engine meet.
  '29500': 'MASTER_PORT; --master-port of vLLM, --dist-init-addr or --nccl-port of SGLang',
  '50051': '--rpc_port of mooncake_master',
};

/** Frees the port that an error names, or gives the program another one; undefined where it names none. */
export function freePort(sentence: string): Repair | undefined {
  const port = PORT.exec(sentence)?.[1];
  if (port === undefined) return undefined;
  const another = `give this program another one (${SETTINGS[port] ?? '--port, or the setting that has this number'})`;
  return {
    says: `Free port ${port}: ss -ltnp "sport = :${port}" shows the process that has it, as a rule one of an earlier start, which has to end; or ${another}`,
    why: 'Two processes of one host (hostNetwork counts as one) cannot listen at one port. Ranks and engines count up from a base port: leave room between those of two engines.',
    commands: [`ss -ltnp "sport = :${port}"    # on the host, or in the pod: who has it`],
  };
}
