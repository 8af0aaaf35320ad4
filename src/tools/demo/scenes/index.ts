import type { Scene } from '../scene.js';
import { agreementScene } from './agreement.js';
import { conflictScene } from './conflict.js';
import { declaredScene } from './declared.js';
import { kvEventsScene } from './kv-events.js';
import { lateJoinerScene } from './late-joiner.js';
import { overrideScene } from './override.js';
import { racksScene } from './racks.js';
import { rollingChangeScene } from './rolling-change.js';
import { routingScene } from './routing.js';

/** The story, in order. Each scene has a fleet of its own and can be played alone. */
export const SCENES: readonly Scene[] = [
  agreementScene,
  kvEventsScene,
  lateJoinerScene,
  conflictScene,
  overrideScene,
  rollingChangeScene,
  declaredScene,
  routingScene,
  racksScene,
];
