import { type PathFaultId, pathFaultSaid, pathFaultSays } from './path-faults.js';
import { libraryAtEnd, libraryOf, type TransferLibrary } from './transfer-libraries.js';

/** Faults that say that something failed, and not what. */
const PLAIN: readonly PathFaultId[] = ['prefill_silent', 'backend_unready', 'backend_error'];

/** Faults whose words name their library. */
const OF_NPUS: readonly PathFaultId[] = ['npu_connection', 'npu_transfer'];
const NAMED: readonly PathFaultId[] = [
  ...OF_NPUS,
  'send_queue',
  'gpu_queues',
  'agent_refused',
  'context_stuck',
];
/** Faults of one network card, which their lines name. */
const OF_CARD: readonly PathFaultId[] = ['gpu_queues', 'queues', 'port_down'];

/** A fault as it was read of a line: what it is, between whom, and of which library. */
export interface SeenPathFault {
  readonly id: PathFaultId;
  readonly library: TransferLibrary | undefined;
  /** The network cards of both sides. */
  readonly cards: readonly [here: string, there: string] | undefined;
  /** The card of this side where it is of that card alone: `mlx5_1`, `mlx5_32:1`; of connections, where it is the same each time. */
  readonly card?: string | undefined;
  /** An address that leads out of no host or container. */
  readonly hostAddress: string | undefined;
  /** True where it only says that something failed. */
  readonly isPlain: boolean;
}

const CARDS = /\blocal_nic: ([\w.:-]{1,40}), peer_nic: [^@,\s]{1,120}@([\w.-]{1,40})/;
const CARD =
  /\b((?:mlx[45]_|bnxt_re|irdma|ionic|erdma|hns|rdmap|rocep|roceo|ibp)[\w-]{0,24}(?::\d{1,2}(?!\d))?)/;
const CARD_SAID = /, on ([\w:-]{1,40})/;
const CARDS_SAID = /, from ([\w.:-]{1,40}) here to ([\w.-]{1,40}) there/;
/** Of the host itself, of no host, and of Docker's own bridge. */
const HOST_ADDRESS =
  /\b(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|0\.0\.0\.0|172\.17\.\d{1,3}\.\d{1,3}|localhost)(?=[:@\s,'")\]]|$)/;
const ADDRESS_SAID = /, at ([\w.]{1,40})/;

/** The value of a sign: the fault with what a line says of both sides, and the library. */
export function pathFaultValue(id: PathFaultId, line: string): string {
  const [, here, there] = CARDS.exec(line) ?? [];
  const isBetween = id === 'peer_gone';
  return seenPathFaultSays({
    id,
    library: libraryOf(line),
    cards: isBetween && here !== undefined && there !== undefined ? [here, there] : undefined,
    card: OF_CARD.includes(id) ? CARD.exec(line)?.[1] : undefined,
    hostAddress: isBetween ? HOST_ADDRESS.exec(line)?.[1] : undefined,
  });
}

/** How a fault is said with all that is known of it. */
export function seenPathFaultSays(fault: Omit<SeenPathFault, 'isPlain'>): string {
  const { id, library, cards, card, hostAddress } = fault;
  const isEachTime = id === 'peer_gone';
  const on = card === undefined ? '' : isEachTime ? `, each time over ${card}` : `, on ${card}`;
  const between =
    cards === undefined || (isEachTime && card !== undefined)
      ? ''
      : `, from ${cards[0]} here to ${cards[1]} there`;
  const at = hostAddress === undefined ? '' : `, at ${hostAddress}`;
  const isNamed = library === undefined || NAMED.includes(id);
  return `${pathFaultSays(id)}${on}${between}${at}${isNamed ? '' : ` (${library})`}`;
}

/** What a value says; `line` has what it does not. */
export function readPathFault(value: string, line = ''): SeenPathFault {
  const id = pathFaultSaid(value);
  const [, here, there] = CARDS_SAID.exec(value) ?? [];
  return {
    id,
    library: OF_NPUS.includes(id) ? 'Ascend' : (libraryAtEnd(value) ?? libraryOf(line)),
    cards: here === undefined || there === undefined ? undefined : [here, there],
    card: CARD_SAID.exec(value)?.[1],
    hostAddress: ADDRESS_SAID.exec(value)?.[1],
    isPlain: PLAIN.includes(id),
  };
}
