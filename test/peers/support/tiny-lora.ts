import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder } from './scratch.js';
import { HEADS_WIDTH, HIDDEN_WIDTH, LAYERS } from './tiny-model.js';

const RANK = 8;

/** Writes a LoRA adapter for the tiny Llama, one that changes nothing, and returns its path. */
export function tinyLora(name: string): string {
  const folder = join(scratchFolder(), 'adapters', name);
  mkdirSync(folder, { recursive: true });
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: RANK,
    lora_alpha: RANK,
    lora_dropout: 0,
    bias: 'none',
    target_modules: ['q_proj'],
  };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'adapter_model.safetensors'), weights());
  return folder;
}

/** Zeroes in the format of safetensors: the length of a JSON header, the header, the numbers. */
function weights(): Buffer {
  const header: Record<string, unknown> = {};
  let end = 0;
  for (let layer = 0; layer < LAYERS; layer += 1) {
    for (const [part, shape] of [
      ['lora_A', [RANK, HIDDEN_WIDTH]],
      ['lora_B', [HEADS_WIDTH, RANK]],
    ] as const) {
      const start = end;
      end += shape[0] * shape[1] * Float32Array.BYTES_PER_ELEMENT;
      header[`base_model.model.model.layers.${layer}.self_attn.q_proj.${part}.weight`] = {
        dtype: 'F32',
        shape,
        data_offsets: [start, end],
      };
    }
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(end)]);
}
