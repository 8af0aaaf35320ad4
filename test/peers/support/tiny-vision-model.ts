import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tinyModel } from './tiny-model.js';

/** Tokens that an Idefics3 has beside those of the tiny Llama, in place of reserved ones. */
const VISION_TOKENS: Readonly<Record<string, string>> = {
  '<|reserved8|>': '<image>',
  '<|reserved9|>': '<fake_token_around_image>',
  '<|reserved10|>': '<end_of_utterance>',
  '<|reserved11|>': '<global-img>',
};
const IMAGE_TOKEN = 8;
/** Pixels of an image's side, and of a patch's; two by two patches become one token. */
const IMAGE_SIDE = 128;
const PATCH_SIDE = 8;
const SCALE = 2;
/** Tokens of an image itself; three more stand around it. */
const IMAGE_TOKENS = (IMAGE_SIDE / PATCH_SIDE / SCALE) ** 2;

/** Goes through the parts of a message, so that an image stays where it stands. */
const CHAT_TEMPLATE =
  "{{ '<bos>' }}{% for m in messages %}{{ '<|' + m['role'] + '|> ' }}{% if m['content'] is string %}{{ m['content'] }}" +
  "{% else %}{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}{% else %}{{ ' <image> ' }}{% endif %}" +
  "{% endfor %}{% endif %}{{ ' <|end|> ' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}";

/**
 * Writes the folder of a tiny Idefics3 without weights: the tiny Llama with
 * eyes. It is one of the few vision models whose processor needs no torchvision.
 */
export function tinyVisionModel(name: string): string {
  const folder = tinyModel(name, 'llama', { chatTemplate: CHAT_TEMPLATE });
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const write = (file: string, content: unknown): void =>
    writeFileSync(join(folder, file), `${JSON.stringify(content, undefined, 2)}\n`);
  let tokenizer = read('tokenizer.json');
  for (const [reserved, token] of Object.entries(VISION_TOKENS))
    tokenizer = tokenizer.replaceAll(reserved, token);
  write('tokenizer.json', JSON.parse(tokenizer));
  write('config.json', {
    architectures: ['Idefics3ForConditionalGeneration'],
    model_type: 'idefics3',
    text_config: JSON.parse(read('config.json')),
    vision_config: {
      model_type: 'idefics3_vision',
      hidden_size: 64,
      intermediate_size: 128,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      image_size: IMAGE_SIDE,
      patch_size: PATCH_SIDE,
    },
    image_token_id: IMAGE_TOKEN,
    scale_factor: SCALE,
    pad_token_id: 0,
    bos_token_id: 1,
    eos_token_id: 2,
    tie_word_embeddings: true,
    dtype: 'float32',
  });
  write('preprocessor_config.json', {
    image_processor_type: 'Idefics3ImageProcessor',
    processor_class: 'Idefics3Processor',
    do_convert_rgb: true,
    do_resize: true,
    size: { longest_edge: IMAGE_SIDE },
    max_image_size: { longest_edge: IMAGE_SIDE },
    do_image_splitting: false,
    do_rescale: true,
    rescale_factor: 1 / 255,
    do_normalize: true,
    image_mean: [0.5, 0.5, 0.5],
    image_std: [0.5, 0.5, 0.5],
    do_pad: true,
    resample: 3,
  });
  write('processor_config.json', { processor_class: 'Idefics3Processor', image_seq_len: IMAGE_TOKENS });
  return folder;
}

/** A picture of one colour, as a `data:` address of a BMP, which needs no compression. */
export function pictureOf([red, green, blue]: readonly [number, number, number]): string {
  const side = 64;
  const head = Buffer.alloc(54);
  head.write('BM');
  head.writeUInt32LE(54 + 3 * side * side, 2);
  head.writeUInt32LE(54, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(side, 18);
  head.writeInt32LE(side, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(24, 28);
  const file = Buffer.concat([head, Buffer.alloc(3 * side * side, Buffer.of(blue, green, red))]);
  return `data:image/bmp;base64,${file.toString('base64')}`;
}
