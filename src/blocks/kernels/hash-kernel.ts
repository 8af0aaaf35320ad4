// The compiled module of kernel/hash (75 bytes), base64. Written by scripts/kernels.mjs.
export const HASH_KERNEL_BASE64: string =
  'AGFzbQEAAAABBQFgAAF/AhIBA2VudgZtZW1vcnkCAwGAgAQDAgEABxgCC2lucHV0T2Zmc2V0AAAGbWVtb3J5AgAKCAEGAEGAgAQL';
