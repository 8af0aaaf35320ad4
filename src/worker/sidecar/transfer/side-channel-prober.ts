import { type Address, parseAddress } from '../../../edge/platform/address.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import { FactSheet } from '../../../engines/facts/fact-sheet.js';
import {
  EvidenceSource,
  type SideChannel,
  SideChannel_State,
} from '../../../gen/kvaccord/v1/capabilities.js';
import type { Sockets } from '../../kv-events/sockets/zmq-sockets.js';
import { type LearnAttempt, type LearnFacts, learnOnce, type ProbedEngine } from '../probing/learn-once.js';
import { type AskedSideChannel, askSideChannel } from './ask-side-channel.js';
import type { NixlMetadata } from './nixl-metadata.js';

const PROBE_NAME = 'side-channel';
/** Ranks of one engine that are asked: as many as one machine runs, and some more. */
const MAX_ASKED = 64;

export interface SideChannelProberModules {
  readonly clock: Clock;
  /** Opens ZeroMQ sockets; called once there is something to ask. */
  readonly loadSockets: () => Promise<Sockets>;
  /** The names and addresses of this machine. */
  readonly ownHosts: () => ReadonlySet<string>;
}

interface Place {
  readonly channel: SideChannel;
  readonly address: Extract<Address, { type: 'tcp' }>;
}

/**
 * Asks the side channels of an engine what a transfer from it needs, once for
 * each of its starts, in a form that its version is known to take, and only on
 * this machine. One that could not be connected to has not been asked, and is
 * tried again some times.
 */
export class SideChannelProber {
  readonly #modules: SideChannelProberModules;
  readonly #isOff: boolean;
  /** What is known of this engine start; asks a ready engine where nothing is yet. Never rejects. */
  readonly learn: LearnFacts;

  constructor({ isOff = false }: { readonly isOff?: boolean }, modules: SideChannelProberModules) {
    this.#modules = modules;
    this.#isOff = isOff;
    this.learn = learnOnce({
      clock: modules.clock,
      attempt: (engine, signal) => this.#attempt(engine, signal),
    });
  }

  /** Undefined where there is nothing to ask, or not enough is known yet to decide that. */
  async #attempt(engine: ProbedEngine, signal: AbortSignal): Promise<LearnAttempt | undefined> {
    const channels = engine.known['transfer.side_channels'] ?? [];
    const connector = engine.known['transfer.connector'];
    const version = engine.known['engine.version'];
    const formOf = engineOfKind(engine.kind)?.sideChannelForm;
    if (channels.length === 0 || formOf === undefined) return undefined;
    if (connector === undefined || version === undefined) return undefined;
    if (this.#isOff) return this.#leave(channels, '--transfer-probe is off');
    if (formOf(connector, version) === undefined) {
      const whose = `the side channel of ${connector} in version ${version}`;
      return this.#leave(channels, `${whose} is not known here, and a wrong message can end its listener`);
    }
    return this.#ask(channels, engine, signal);
  }

  /** Asks nobody, and says why. */
  #leave(channels: readonly SideChannel[], reason: string): LearnAttempt {
    const sheet = this.#sheet('not asked');
    sheet.field('transfer.side_channels', channels.map(notAsked(reason)), reason);
    return { facts: sheet.answer().facts, probes: [], isFinal: true };
  }

  async #ask(
    channels: readonly SideChannel[],
    { httpBaseUrl }: ProbedEngine,
    signal: AbortSignal,
  ): Promise<LearnAttempt> {
    const isHere = this.#isHere(httpBaseUrl);
    const places = channels.flatMap((channel): Place[] => {
      const address = parseAddress(channel.address);
      return address?.type === 'tcp' && isHere(address.host) ? [{ channel, address }] : [];
    });
    if (places.length === 0) {
      return this.#leave(
        channels,
        'it is not on this machine, and is asked by a sidecar beside its engine alone',
      );
    }
    let sockets: Sockets;
    try {
      sockets = await this.#modules.loadSockets();
    } catch (error) {
      return this.#leave(channels, `ZeroMQ cannot be loaded: ${describeError(error)}`);
    }
    const asked = new Map<SideChannel, AskedSideChannel>();
    await Promise.all(
      places.slice(0, MAX_ASKED).map(async ({ channel, address }) => {
        asked.set(channel, await askSideChannel(address, { clock: this.#modules.clock, sockets }, signal));
      }),
    );
    return this.#learnedOf(channels, asked);
  }

  #learnedOf(
    channels: readonly SideChannel[],
    asked: ReadonlyMap<SideChannel, AskedSideChannel>,
  ): LearnAttempt {
    const first = channels.find((channel) => asked.has(channel));
    const origin = `NIXL side channel tcp://${first?.address}`;
    const sheet = this.#sheet(origin);
    const seen = channels.map((channel) => {
      const answer = asked.get(channel);
      return answer === undefined
        ? notAsked('it is not on this machine')(channel)
        : { ...channel, state: answer.state, reason: answer.reason };
    });
    const raw = seen.map(({ address, reason }) => `${address}: ${reason || 'answered'}`).join(', ');
    sheet.field('transfer.side_channels', seen, raw);
    const answers = [...asked.values()].flatMap(({ metadata }) => metadata ?? []);
    stateMetadata(answers, sheet);
    const silent = [...asked.values()].find(({ state }) => state !== SideChannel_State.ANSWERED);
    return {
      facts: sheet.answer().facts,
      probes: [
        {
          probe: PROBE_NAME,
          origin,
          answered: silent === undefined,
          factCount: sheet.factCount,
          error: silent?.reason ?? '',
        },
      ],
      // A question that was sent is not sent again.
      isFinal: [...asked.values()].every(({ state }) => state !== SideChannel_State.UNREACHABLE),
    };
  }

  /** A loopback address is the engine's only where the engine itself is here. */
  #isHere(httpBaseUrl: string): (host: string) => boolean {
    const own = this.#modules.ownHosts();
    const isOwn = (host: string): boolean => own.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
    const engineHost = new URL(httpBaseUrl).hostname.replace(/^\[(.*)\]$/, '$1');
    return (host) => isOwn(engineHost) && isOwn(host);
  }

  #sheet(origin: string): FactSheet {
    const observedAtMs = this.#modules.clock.wallMs();
    return new FactSheet({ source: EvidenceSource.ENGINE_RPC, origin, observedAtMs });
  }
}

function notAsked(reason: string): (channel: SideChannel) => SideChannel {
  return (channel) => ({ ...channel, state: SideChannel_State.NOT_ASKED, reason });
}

/** What all ranks answer alike; each has an engine id of its own. */
function stateMetadata(answers: readonly NixlMetadata[], sheet: FactSheet): void {
  const common = <Field extends keyof NixlMetadata>(field: Field): NixlMetadata[Field] | undefined => {
    const values = new Set(answers.map((answer) => answer[field]));
    return values.size === 1 ? [...values][0] : undefined;
  };
  for (const [name, field, key] of [
    ['compatibility_hash', 'transfer.compatibility_hash', 'compatibilityHash'],
    ['engine_id', 'transfer.engine_id', 'engineId'],
    ['kv_cache_layout', 'transfer.block_layout', 'layout'],
    ['attn_backend_name', 'transfer.attention_backend', 'attentionBackend'],
  ] as const) {
    const value = common(key);
    sheet.field(field, value, `${name}: ${JSON.stringify(value)}`);
  }
  const size = common('blockSize');
  sheet.field('transfer.tokens_per_block', size, `block_size: ${size}`);
}
