/** Places of a body that are looked at. */
const SAMPLES = 64;

/** FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/. */
const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * 32 bits that are the same for the same body, and for others hardly ever: its
 * length, and bytes evenly from its beginning to its end. For telling a request
 * that is sent again, not against who wants two to look alike.
 */
export function sketchOf(bytes: Buffer): number {
  const { length } = bytes;
  let hash = Math.imul(OFFSET_BASIS ^ length, PRIME);
  const count = Math.min(SAMPLES, length);
  for (let at = 0; at < count; at += 1) {
    const place = count < SAMPLES ? at : Math.floor((at * (length - 1)) / (SAMPLES - 1));
    hash = Math.imul(hash ^ (bytes[place] as number), PRIME);
  }
  return hash >>> 0;
}
