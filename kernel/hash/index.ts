/** Where the caller may put tokens. */
export function inputOffset(): u32 {
  return 65536;
}
