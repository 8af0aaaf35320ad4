const FALSE = ['false', '0', 'no', 'off', 'none', 'null', ''];

/** Whether a setting, however it is written, says no. */
export function isFalse(value: string): boolean {
  return FALSE.includes(value.trim().toLowerCase());
}

/** Whether a setting says yes. */
export function isTrue(value: string): boolean {
  return ['true', '1', 'yes', 'on'].includes(value.trim().toLowerCase());
}

/** Whether a setting names anything. */
export function isSome(value: string): boolean {
  return !isFalse(value) && !['[]', '{}'].includes(value.trim());
}
