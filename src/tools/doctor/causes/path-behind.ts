import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { type PathFaultId, pathFaultSays } from '../logs/general/path-faults.js';
import { readPathFault, type SeenPathFault } from '../logs/general/seen-path-faults.js';
import type { Measurements } from '../measurements/measurements.js';

type Sum = NonNullable<ReturnType<Measurements['signal']>>;

/** A fault that no error names: events and frames beside errors say it. */
interface FaultBehind {
  readonly fault: SeenPathFault;
  readonly seen: Sum;
  readonly says: string;
  /** True where nothing else says that it did harm. */
  readonly isAlone: boolean;
}

/** What a port that goes down leads to. */
const TROUBLE: readonly Signal[] = [
  'transfer_path_broken',
  'transfer_failed',
  'transfer_unreachable',
  'connector_crashed',
];
/** Faults that a port which goes down brings about. */
const OF_PORTS: readonly PathFaultId[] = ['peer_gone', 'too_slow', 'no_device', 'queues', 'ports_unfit'];
/** `mlx5_32:1`, `bnxt_re0`. */
const CARD = /^[a-z][a-z_-]{0,20}\d[\w-]{0,20}(?::\d{1,2})?$/;
/** Waits from which on they are no accident. */
const MANY_WAITS = 3;

/** The fault behind `said`, which errors name; undefined where events and frames say no more than they do. */
export function faultBehind(
  measurements: Measurements,
  said: SeenPathFault | undefined,
): FaultBehind | undefined {
  if (said !== undefined && !said.isPlain && !OF_PORTS.includes(said.id)) return undefined;
  return (
    portDown(measurements) ??
    (said?.id === 'backend_error' ? agentRefused(measurements, said) : undefined) ??
    (said === undefined || said.isPlain ? contextStuck(measurements) : undefined)
  );
}

/** A port that goes down and comes again once harms nothing where no transfer and no program failed. */
function portDown(measurements: Measurements): FaultBehind | undefined {
  const downs = measurements.signal('port_down');
  if (downs === undefined) return undefined;
  const ups = measurements.signal('port_up')?.values;
  const isTrouble =
    measurements.failures.length > 0 || TROUBLE.some((sign) => measurements.signal(sign) !== undefined);
  const found = [...downs.values].find(
    ([card, count]) => CARD.test(card) && (isTrouble || count > 1 || count > (ups?.get(card) ?? 0)),
  );
  if (found === undefined) return undefined;
  const [card, count] = found;
  const isUp = (ups?.get(card) ?? 0) >= count;
  return {
    fault: { ...readPathFault(pathFaultSays('port_down')), card },
    seen: downs,
    says: `The port ${card} went down ${countOf(count, 'time')}${isUp ? ', and came up again' : ''}.`,
    isAlone: !isTrouble && isUp,
  };
}

/** An error of NIXL whose traceback goes through the place where it takes in the agent of another engine. */
function agentRefused(measurements: Measurements, said: SeenPathFault): FaultBehind | undefined {
  const broken = measurements.signal('transfer_path_broken');
  const isAdded = measurements.signal('peer_agent_added') !== undefined;
  if (!isAdded || broken === undefined || (said.library ?? 'NIXL') !== 'NIXL') return undefined;
  return {
    fault: { ...said, id: 'agent_refused', library: 'NIXL', isPlain: false },
    seen: broken,
    says: 'An error of NIXL in the place that takes in the agent of another engine.',
    isAlone: false,
  };
}

/** Waits come while decode engines are busy too: with nothing scheduled the cache is full of what is not fetched. */
function contextStuck(measurements: Measurements): FaultBehind | undefined {
  const waits = measurements.signal('context_transfer_waits');
  if (waits === undefined) return undefined;
  const isFull = measurements.signal('nothing_scheduled') !== undefined;
  if (!isFull && waits.count < MANY_WAITS) return undefined;
  return {
    fault: { ...readPathFault(pathFaultSays('context_stuck')), library: undefined },
    seen: waits,
    says: `${countOf(waits.count, 'wait')} for blocks to be fetched ended without them${isFull ? ', and none of the requests that are there is scheduled' : '; decode engines may only be busy'}.`,
    isAlone: !isFull,
  };
}
