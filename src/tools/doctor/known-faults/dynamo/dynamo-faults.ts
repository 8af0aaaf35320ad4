import type { KnownFault } from '../known-fault.js';
import { DYNAMO_BACKENDS } from './dynamo-backends.js';
import { DYNAMO_DISCOVERY } from './dynamo-discovery.js';
import { DYNAMO_EVENTS } from './dynamo-events.js';
import { DYNAMO_KVBM } from './dynamo-kvbm.js';
import { DYNAMO_MODELS } from './dynamo-models.js';
import { DYNAMO_OPERATOR } from './dynamo-operator.js';
import { DYNAMO_PICKER } from './dynamo-picker.js';
import { DYNAMO_PLANNER } from './dynamo-planner.js';
import { DYNAMO_REQUESTS } from './dynamo-requests.js';
import { DYNAMO_ROUTER } from './dynamo-router.js';
import { DYNAMO_RUNTIME } from './dynamo-runtime.js';
import { DYNAMO_SETTINGS } from './dynamo-settings.js';
import { DYNAMO_WORKERS } from './dynamo-workers.js';
import { KVBM_PYTHON } from './kvbm-python.js';
import { TRITON_MODELS } from './triton-models.js';
import { TRTLLM_ARGUMENTS } from './trtllm-arguments.js';
import { TRTLLM_BLOCKS } from './trtllm-blocks.js';
import { TRTLLM_ENGINES } from './trtllm-engines.js';
import { TRTLLM_EXECUTOR } from './trtllm-executor.js';
import { TRTLLM_MOONCAKE } from './trtllm-mooncake.js';
import { TRTLLM_PAIRS } from './trtllm-pairs.js';
import { TRTLLM_SERVE } from './trtllm-serve.js';
import { TRTLLM_STARTS } from './trtllm-starts.js';
import { TRTLLM_TRANSFER } from './trtllm-transfer.js';

/** Of Dynamo and TensorRT-LLM. */
export const DYNAMO_FAULTS: readonly KnownFault[] = [
  ...DYNAMO_RUNTIME,
  ...DYNAMO_DISCOVERY,
  ...DYNAMO_REQUESTS,
  ...DYNAMO_ROUTER,
  ...DYNAMO_EVENTS,
  ...DYNAMO_MODELS,
  ...DYNAMO_KVBM,
  ...KVBM_PYTHON,
  ...DYNAMO_WORKERS,
  ...DYNAMO_BACKENDS,
  ...DYNAMO_SETTINGS,
  ...DYNAMO_OPERATOR,
  ...DYNAMO_PLANNER,
  ...DYNAMO_PICKER,
  ...TRTLLM_TRANSFER,
  ...TRTLLM_BLOCKS,
  ...TRTLLM_SERVE,
  ...TRTLLM_EXECUTOR,
  ...TRTLLM_STARTS,
  ...TRITON_MODELS,
  ...TRTLLM_ENGINES,
  ...TRTLLM_ARGUMENTS,
  ...TRTLLM_PAIRS,
  ...TRTLLM_MOONCAKE,
];
