import type { Topology } from '../../gen/kvaccord/v1/capabilities.js';

/** What a program printed. */
export interface CommandOutput {
  readonly stdout: string;
  readonly exitCode: number;
}

/**
 * The host as topology readers see it. Every path and command goes through
 * here, below one relocatable root, so that a recording can be replayed.
 */
export interface Host {
  /** Text of a file below the root, at most 1 MiB; undefined when it is not there. */
  readFile(path: string): Promise<string | undefined>;
  /** Names in a folder below the root; empty when it is not there. */
  listFolder(path: string): Promise<readonly string[]>;
  /** Target of a symbolic link below the root; undefined when it is none. */
  readLink(path: string): Promise<string | undefined>;
  /**
   * Runs a program with a time-out and an output limit. A recording answers
   * from `<root>/commands/<program and arguments joined by spaces>.txt`.
   * Undefined when the program is not on PATH.
   */
  run(program: string, args: readonly string[], signal: AbortSignal): Promise<CommandOutput | undefined>;
  /** Environment variables of the engine as far as known, else of this process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What one reader found. Parts are merged by GPU uuid or PCI bus id. */
export interface TopologyPart {
  readonly topology: Topology;
}

/**
 * Reads one source of topology. "Not here" is a fact: it goes into
 * `topology.notes` ("no GPU found: nvidia-smi not on PATH").
 */
export interface TopologyReader {
  /** `nvidia-smi-query`; unique. */
  readonly name: string;
  read(host: Host, signal: AbortSignal): Promise<TopologyPart>;
}
