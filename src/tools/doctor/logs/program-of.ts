import type { CleanLine } from './clean-line.js';
import type { LogProgram } from './log-summary.js';

const DYNAMO_TEXT = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) +(?:TRACE|DEBUG|INFO|WARN|ERROR) [\w:.<>-]+/;
const VLLM = /^(?:\([^()]{1,80}\) )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +\d\d-\d\d \d\d:\d\d:\d\d/;
const SGLANG = /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z]+\d+)*\] /;
const TENSORRT = /^\[TensorRT-LLM\]|^\[\d\d\/\d\d\/\d{4}-[\d:]+\] \[(?:TRT-LLM|TensorRT-LLM)|^\[TRT-LLM\]/;

/** Who writes lines of such a form. */
export function programOf({ text, fields }: CleanLine): LogProgram {
  if (fields !== undefined) return programOfFields(fields);
  if (DYNAMO_TEXT.test(text)) return 'dynamo';
  if (VLLM.test(text)) return 'vllm';
  if (SGLANG.test(text)) return 'sglang';
  if (TENSORRT.test(text)) return 'trtllm';
  return 'unknown';
}

function programOfFields(fields: Readonly<Record<string, unknown>>): LogProgram {
  const { level, target, msg, time, ts, name, logger } = fields;
  if (typeof target === 'string' && /^(?:TRACE|DEBUG|INFO|WARN|ERROR)$/.test(String(level))) return 'dynamo';
  if (
    typeof msg === 'string' &&
    typeof time === 'string' &&
    ts === undefined &&
    /^[a-z]+$/.test(String(level))
  )
    return 'kv-accord';
  const source = String(name ?? logger ?? '');
  if (source.startsWith('vllm')) return 'vllm';
  return source.startsWith('sglang') ? 'sglang' : 'unknown';
}
