import type { KnownFault } from '../known-fault.js';
import { STORES_REDIS } from './stores-redis.js';
import { STORES_SERVERS } from './stores-servers.js';

/** Of servers that fleets share: NATS, etcd, Redis and Valkey. */
export const SERVERS_FAULTS: readonly KnownFault[] = [...STORES_REDIS, ...STORES_SERVERS];
