/** Folder of the model cards under the root of Dynamo's file discovery (`DYN_FILE_KV`). */
export function cardsFolder(root: string): string {
  return `${root.replace(/(?<=.)\/+$/, '')}/v1/mdc`;
}

/** Largest card that is read; real ones have 2 KiB. */
export const MAX_CARD_BYTES: number = 256 * 1024;
