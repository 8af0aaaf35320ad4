/** 32 bits that stand for a worker's rank in the choice by session (FNV-1a of its name). */
export function rankHash(worker: string, rank: number): number {
  let hash = 0x811c9dc5;
  const name = `${rank} ${worker}`;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * How much a session prefers a rank, 0 to 2^32-1: of equally good ranks the one with the most gets its requests (rendezvous
 * hashing). Nothing is remembered, every router chooses alike, and when a rank leaves only its own sessions move. The mixing is
 * that of MurmurHash3's last step.
 */
export function preference(sessionHash: number, rank: number): number {
  let mixed = sessionHash ^ rank;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
