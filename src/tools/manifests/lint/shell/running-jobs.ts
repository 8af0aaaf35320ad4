/** Commands that end other processes, or wait for their ends. */
const ENDING: readonly string[] = ['wait', 'kill', 'pkill', 'killall'];

/** `docker stop NAME`, `docker compose down`: whose containers these are is not looked at. */
const CONTAINERS =
  /^(?:docker|podman|nerdctl)(?:-compose)?(?: compose)?(?: -\S+)*(?: container)? (?:stop|kill|rm|down)\b/;

/** Which commands of a script still run, as far as the script itself ends them. */
export class RunningJobs {
  /** Never changed, as commands keep it: another one takes its place. */
  #ended: ReadonlySet<number> = new Set();
  readonly #byVariable = new Map<string, readonly number[]>();
  #last: readonly number[] = [];

  /** The commands that have ended so far, by their numbers. */
  get ended(): ReadonlySet<number> {
    return this.#ended;
  }

  /** Goes back to what had ended before: what a branch ends has ended in it alone. */
  return(ended: ReadonlySet<number>): void {
    this.#ended = ended;
  }

  /** The commands that one `&` has sent to the background. */
  sent(numbers: readonly number[]): void {
    this.#last = numbers;
  }

  /** `PID=$!`. */
  keep(variable: string): void {
    this.#byVariable.set(variable, [...(this.#byVariable.get(variable) ?? []), ...this.#last]);
  }

  /** Follows a command that ends others: those that it names by their variables, else all until now. */
  follow(tool: string, args: readonly string[], count: number): void {
    if (!ENDING.includes(tool) && !/^(?:docker|podman|nerdctl)/.test(tool)) return;
    const endsContainers = CONTAINERS.test(`${tool} ${args.slice(0, 8).join(' ')}`);
    if (!ENDING.includes(tool) && !endsContainers) return;
    // `kill -0` asks whether a process is there, `wait -n` for the first that ends.
    if (args.some((arg) => /^-(?:0|n|l|L)$/.test(arg))) return;
    const targets = args.filter((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-s');
    const named = targets.map((arg) => this.#namedBy(arg));
    const isKnown = (tool === 'wait' || tool === 'kill') && targets.length > 0;
    if (isKnown && named.every((one) => one !== undefined)) {
      this.#ended = new Set([...this.#ended, ...named.flatMap((one) => one ?? [])]);
      return;
    }
    this.#ended = new Set(Array.from({ length: count }, (_, number) => number));
  }

  /** The commands whose process a word names: `$PID`, `"${PIDS[@]}"`. */
  #namedBy(word: string): readonly number[] | undefined {
    const [, name] = /^["']?\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?\}?["']?$/.exec(word) ?? [];
    return word === '$!' ? this.#last : name === undefined ? undefined : this.#byVariable.get(name);
  }
}
