import type { KnownFault } from '../known-fault.js';
import { CHARTS } from './charts.js';
import { INSTALLS } from './installs.js';
import { KERNEL_LOG } from './kernel-log.js';
import { KUBERNETES } from './kubernetes.js';
import { POD_IMAGES } from './pod-images.js';
import { POD_PLACES } from './pod-places.js';
import { POD_PROBES } from './pod-probes.js';
import { POD_REFUSALS } from './pod-refusals.js';
import { STORES_REDIS } from './stores-redis.js';
import { STORES_SERVERS } from './stores-servers.js';

/** Of servers that fleets share: NATS, etcd, Redis and Valkey, the API server of Kubernetes; and of what installs them. */
export const SERVERS_FAULTS: readonly KnownFault[] = [
  ...STORES_REDIS,
  ...STORES_SERVERS,
  ...CHARTS,
  ...INSTALLS,
  ...KUBERNETES,
  ...POD_IMAGES,
  ...POD_PLACES,
  ...POD_PROBES,
  ...POD_REFUSALS,
  ...KERNEL_LOG,
];
