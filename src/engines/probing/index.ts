import { dynamoModelCard } from '../dynamo/model-card-probe.js';
import { dynamoSystemHealth, dynamoSystemMetrics } from '../dynamo/system-status-probe.js';
import { sglangGrpc } from '../sglang/grpc.js';
import { sglangMetrics } from '../sglang/metrics.js';
import { sglangServerInfo } from '../sglang/server-info.js';
import { trtllmConfig } from '../trtllm/config.js';
import { trtllmMetrics } from '../trtllm/metrics.js';
import { trtllmServerInfo } from '../trtllm/server-info.js';
import { vllmControlGrpc } from '../vllm/control-grpc.js';
import { vllmEngineGrpc } from '../vllm/engine-grpc.js';
import { vllmKvEventSources } from '../vllm/kv-event-sources.js';
import { vllmMetrics } from '../vllm/metrics.js';
import { vllmServerInfo } from '../vllm/server-info.js';
import { trtllmVersion, vllmVersion } from './engine-version.js';
import { openaiModels } from './openai-models.js';
import type { EngineProbe } from './probe.js';

/** Every probe, in the order of the report. To add an engine is to add its probes here, each with its recordings. */
export const ENGINE_PROBES: readonly EngineProbe[] = [
  openaiModels,
  vllmMetrics,
  vllmControlGrpc,
  vllmEngineGrpc,
  vllmVersion,
  vllmKvEventSources,
  vllmServerInfo,
  sglangServerInfo,
  sglangMetrics,
  sglangGrpc,
  trtllmMetrics,
  trtllmServerInfo,
  trtllmVersion,
  trtllmConfig,
  dynamoSystemHealth,
  dynamoSystemMetrics,
  dynamoModelCard,
];
