/** Where the connection to the publisher stands. `lost`: interrupted for so long that its batches count no more. */
type Connection = 'new' | 'up' | 'interrupted' | 'lost';

/**
 * Whether the publisher that is connected is surely the one whose batches are
 * held. A connection that came back may lead to another engine start, and may
 * have missed batches: that is in doubt until a replay proves otherwise.
 */
export class PublisherTrust {
  readonly #endpoint: string;
  #connection: Connection = 'new';
  #changes = 0;
  /** The last batch at the moment at which the connection broke: surely of the publisher before. */
  #anchor: number | undefined;
  #suspicion: string | undefined;

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  /** Whether there was a connection before. */
  get hasBeenUp(): boolean {
    return this.#connection !== 'new';
  }

  get isLost(): boolean {
    return this.#connection === 'lost';
  }

  /** How often the connection came or went: what was asked before the last change proves nothing after it. */
  get changes(): number {
    return this.#changes;
  }

  /** The newest batch that is surely of the publisher before the interruption; undefined where none is in doubt. */
  get anchor(): number | undefined {
    return this.#anchor;
  }

  /** Why batches may have been missed, or be of another engine start; undefined when nothing says so. */
  get suspicion(): string | undefined {
    return this.#suspicion;
  }

  /** What happened to the connection, as part of a message. */
  get interruption(): string {
    return `the connection to ${this.#endpoint} was interrupted`;
  }

  /** Why the engine may hold something else than was read, from the moment at which the connection breaks. */
  doubt(isUp: boolean): string | undefined {
    const isBroken = this.hasBeenUp && !isUp;
    return isBroken ? `the connection to ${this.#endpoint} is interrupted` : this.#suspicion;
  }

  onUp(): void {
    if (this.hasBeenUp) this.#suspicion ??= this.interruption;
    this.#set('up');
    this.#changes += 1;
  }

  /** `last`: the newest batch that was read. */
  onDown(last: number | undefined): void {
    this.#anchor ??= last;
    this.#set('interrupted');
    this.#changes += 1;
  }

  onLost(): void {
    this.#set('lost');
  }

  /** The publisher proved to be the same. False, and without effect, when the connection changed since `changes` was read. */
  confirm(changes: number): boolean {
    if (changes !== this.#changes) return false;
    this.#anchor = undefined;
    this.#suspicion = undefined;
    return true;
  }

  /** Batches may have been missed, and could not be asked for. */
  suspect(reason: string): void {
    this.#suspicion = `what may have been missed could not be asked for: ${reason}`;
  }

  /** Nothing is held any more. The suspicion stays where the publisher that came is yet to be checked. */
  drop(isCheckDue: boolean): void {
    this.#anchor = undefined;
    if (!isCheckDue) this.#suspicion = undefined;
  }

  #set(connection: Connection): void {
    this.#connection = connection;
  }
}
