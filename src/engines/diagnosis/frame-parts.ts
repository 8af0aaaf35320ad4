import type { EnginePart } from './log-findings.js';
import { type LogRule, rule } from './log-rule.js';

/** Folders of engines that hold one part alone: of vLLM 0.6 to 0.33, and of SGLang 0.4 to 0.5.23. */
const FOLDERS: readonly (readonly [
  needle: string,
  engine: EnginePart['engine'],
  part: EnginePart['part'],
])[] = [
  ['/vllm/v1/spec_decode/', 'vllm', 'speculation'],
  ['/vllm/spec_decode/', 'vllm', 'speculation'],
  ['/sglang/srt/speculative/', 'sglang', 'speculation'],
  ['/vllm/v1/attention/backends/', 'vllm', 'attention'],
  ['/vllm/attention/backends/', 'vllm', 'attention'],
  ['/sglang/srt/layers/attention/', 'sglang', 'attention'],
  ['/vllm/lora/', 'vllm', 'lora'],
  ['/sglang/srt/lora/', 'sglang', 'lora'],
  ['/vllm/v1/structured_output/', 'vllm', 'grammar'],
  ['/sglang/srt/constrained/', 'sglang', 'grammar'],
  ['/vllm/distributed/eplb/', 'vllm', 'eplb'],
  ['/sglang/srt/eplb/', 'sglang', 'eplb'],
  ['device_communicators/custom_all_reduce.py"', 'vllm', 'all_reduce'],
];
const FILE = /\/(\w{2,60})\.py", line \d{1,7}, in \w/;
/** Files that all backends of attention share. */
const SHARED =
  /^(?:abstract|utils|base_attn_backend|attention_registry|registry|layer|selector|backend|common)$/;

/** Frames of tracebacks within such a part: what fails there works without it. */
export const FRAME_PART_RULES: readonly LogRule[] = FOLDERS.map(([needle, engine, part]) =>
  rule(needle, (line, found) => {
    const file = FILE.exec(line.text)?.[1];
    if (file === undefined || (part === 'attention' && SHARED.test(file))) return;
    found.addPart(
      line,
      part === 'attention' ? { engine, part, name: file.replace(/_backend$/, '') } : { engine, part },
    );
  }),
);

/** Classes of either engine, by the words of its names. */
const CLASSES: readonly (readonly [RegExp, EnginePart])[] = [
  [/Proposer$|^SpecDecode|^Medusa\w*/, { engine: 'vllm', part: 'speculation' }],
  [/^(?:EAGLE|Eagle|MultiLayerEagle|Standalone|NGRAM)\w*Worker/, { engine: 'sglang', part: 'speculation' }],
  [/(?:Impl|MetadataBuilder)$/, { engine: 'vllm', part: 'attention' }],
  [/(?:Attn|MLA|Attention|FlashInfer)\w*Backend$/, { engine: 'sglang', part: 'attention' }],
];

/** The same by the class that an error names, where its traceback is not there. */
export function partOfSentence(sentence: string): EnginePart | undefined {
  const [, of, called] =
    /'(\w{4,60})' object has no attribute|\b(\w{4,60})\.\w{1,60}\(\) (?:got|missing|takes)/.exec(sentence) ??
    [];
  const name = of ?? called ?? '';
  return CLASSES.find(([pattern]) => pattern.test(name))?.[1];
}
