/** A release by its first two numbers: `{ major: 1, minor: 3 }` of 1.3.1. */
export interface Release {
  readonly major: number;
  readonly minor: number;
}

/** A block size that a program has when nothing sets one. */
export interface DefaultSize {
  /** As `lint` names it: `vllm serve`, `dynamo.router`. */
  readonly program: string;
  readonly tokensPerBlock: number;
  /** Goes on after the number: `on a CPU`. Absent where it holds for each model, device and kernel. */
  readonly where?: string;
  /** The first release that has it; absent for all that came before `until`. */
  readonly since?: Release;
  /** The first release that no longer has it; absent while the newest one that is known has it. */
  readonly until?: Release;
  /** Where the number was read. */
  readonly source: string;
}

/**
 * The block size that a program has for sure when nothing sets one. Undefined where it depends on the model, the device or
 * the kernel, and where it changed between releases and the release is not known.
 */
export function certainDefaultSize(
  sizes: readonly DefaultSize[],
  program: string,
  release: Release | undefined,
): number | undefined {
  const own = sizes.filter((size) => size.program === program && mayHold(size, release));
  const [first, ...others] = own;
  return first !== undefined && others.length === 0 && first.where === undefined && holds(first, release)
    ? first.tokensPerBlock
    : undefined;
}

/** What the first program of an engine may take when nothing sets it: `16 on most GPUs, 128 on a CPU`. Empty where nothing is known. */
export function defaultSizeText(sizes: readonly DefaultSize[]): string {
  return sizes
    .filter(({ program }) => program === sizes[0]?.program)
    .map(({ tokensPerBlock, where }) =>
      where === undefined ? `${tokensPerBlock}` : `${tokensPerBlock} ${where}`,
    )
    .join(', ');
}

/** Whether nothing is known that speaks against it. */
function mayHold({ since, until }: DefaultSize, release: Release | undefined): boolean {
  if (release === undefined) return true;
  return (
    (since === undefined || !isBefore(release, since)) && (until === undefined || isBefore(release, until))
  );
}

function holds(size: DefaultSize, release: Release | undefined): boolean {
  return release !== undefined || (size.since === undefined && size.until === undefined);
}

/** Whether a release came before another one. */
export function isBefore(release: Release, other: Release): boolean {
  return release.major < other.major || (release.major === other.major && release.minor < other.minor);
}
