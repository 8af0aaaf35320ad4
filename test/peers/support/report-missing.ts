import { missingPeers } from './peers.js';
import { podNetworkMissing } from './pod-network.js';

/** Vitest's global set-up: says before and after the tests what could not be talked to. */
export function setup(): void {
  say();
}

/** See `setup`. */
export function teardown(): void {
  say();
}

function say(): void {
  for (const line of missingPeers()) console.log(`peers: ${line}`);
  const reason = podNetworkMissing();
  if (reason !== undefined) console.log(`peers: pod network: not run: ${reason}`);
}
