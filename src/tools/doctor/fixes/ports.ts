import type { Repair } from './repair.js';

/** Whose port it is by default, and how it is set. Source: the defaults of each program. */
const SETTINGS: Readonly<Record<string, string>> = {
  '2379': 'etcd (--listen-client-urls)',
  '4222': 'NATS (--port)',
  '5555': 'LMCache\'s server (lmcache server --port, and "lmcache.mp.port" in kv_connector_extra_config)',
  '5557':
    "vLLM's KV events (endpoint in --kv-events-config), and of NixlConnector before vLLM 0.11 (VLLM_NIXL_SIDE_CHANNEL_PORT)",
  '5600': "NixlConnector's side channel (VLLM_NIXL_SIDE_CHANNEL_PORT, counted up by rank)",
  '6379': 'Redis, or Ray (--port)',
  '6999': "LMCache's own API server (LMCACHE_INTERNAL_API_SERVER_PORT_START)",
  '8000': 'the HTTP server (--port)',
  '8998':
    'the bootstrap server of prefill (SGLang --disaggregation-bootstrap-port; MooncakeConnector VLLM_MOONCAKE_BOOTSTRAP_PORT)',
  '9003': "mooncake_master's metrics (--metrics_port)",
  '14579': "vLLM's KV connector (kv_port in --kv-transfer-config)",
  '29500': "PyTorch's rendezvous (MASTER_PORT, --master-port, --dist-init-addr)",
  '30000': 'the HTTP server of SGLang (--port)',
  '50051': 'mooncake_master (--rpc_port)',
};

/** "(addr='tcp://10.0.75.118:40009')", "bind on address ('0.0.0.0', 8000)", "bind port 50051 failed", "127.0.0.1:8998". */
const PORT = /(?::|', ?|\bport[ :=]{1,3})(\d{4,5})\b/i;

/** A port that another process has; undefined where the sentence has no number. */
export function portRepair(sentence: string): Repair | undefined {
  const port = PORT.exec(sentence)?.[1];
  if (port === undefined) return undefined;
  const setting = SETTINGS[port];
  return {
    says: `Give this process another port than ${port}${setting === undefined ? ' (the setting that has this number in its command or environment)' : `, by default that of ${setting}`}, and what connects to it the same one; or end what holds it: ss -ltnp "sport = :${port}" shows it`,
    why: 'Two engines on one host, or in one pod, have the same default, and a process of an earlier start may still run. Data-parallel and tensor-parallel ranks count up from a base port: leave room between two engines.',
    commands: [`ss -ltnp "sport = :${port}"    # who has it`],
  };
}
