import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { type Outcome, run } from './run.js';
import { scratchFolder } from './scratch.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const execute = promisify(execFile);

/** The image that stands in for the one that the Dockerfile begins with. */
export const BASE_IMAGE = 'docker.io/library/node:22-bookworm-slim';

/** What the tests build; the same name each time, so that a new build takes the place of the old one. */
export const IMAGE = 'localhost/kv-accord:peer-test';

/** What is known of an image without running it. */
export interface ImageFacts {
  readonly config: {
    readonly User?: string;
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly StopSignal?: string;
    readonly WorkingDir?: string;
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
    readonly Healthcheck?: unknown;
  };
  /** Sizes of the layers in bytes, uncompressed, from the lowest. */
  readonly layerBytes: readonly number[];
}

/**
 * Flags of podman that take everything from a container which a restricted pod
 * does not have: a root that can be written, capabilities, new privileges.
 */
export const CONFINED: readonly string[] = [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'],
];

/** Builds the checkout's Dockerfile; resolves with what the builder printed. Rejects with the end of it. */
export async function buildImage(): Promise<string> {
  // What other checkouts and earlier days have left; the layers of this day make the next build short.
  await podman('image', 'prune', '--force', '--filter', 'until=24h');
  const { stdout, stderr } = await buildah(
    ...['build-using-dockerfile', '--isolation', 'chroot', '--pull-never', '--format', 'docker', '--layers'],
    ...['--volume', `${await npmSettings()}:/usr/local/etc:ro`, '--build-arg', `NODE_IMAGE=${BASE_IMAGE}`],
    ...['--tag', IMAGE, ROOT],
  );
  return stdout + stderr;
}

/** Looks at an image in the store. */
export async function inspectImage(name: string): Promise<ImageFacts> {
  const { stdout } = await buildah('inspect', '--type', 'image', name);
  const { Docker, Manifest } = JSON.parse(stdout);
  const { layers } = JSON.parse(Manifest) as { layers: readonly { readonly size: number }[] };
  return { config: Docker.config, layerBytes: layers.map(({ size }) => size) };
}

/** Runs the image to its end, confined and without a network. */
export function runImage(args: readonly string[], flags: readonly string[] = []): Promise<Outcome> {
  return podman('run', '--rm', '--network', 'none', ...CONFINED, ...flags, IMAGE, ...args);
}

/** Runs one command of podman over the same store. */
export function podman(...args: readonly string[]): Promise<Outcome> {
  return run('env', [...settingsOfPodman(), 'podman', ...store(), ...args]);
}

/** A container of the image that serves, with the network of this machine. */
export interface Container {
  readonly id: string;
  readonly program: Program;
}

/** Starts a command of the image in a confined container; it is gone when the test is over. */
export function startContainer(
  name: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Container {
  const id = `${name}-${randomUUID()}`;
  const program = new Program({
    name,
    command: [
      ...['env', ...settingsOfPodman(), 'podman', ...store()],
      ...['run', '--rm', '--name', id, '--network', 'host', ...CONFINED],
      ...['--env', 'KV_ACCORD_LOG_FORMAT=json', ...flags, IMAGE, ...args],
    ],
  });
  onTestFinished(async () => {
    await podman('rm', '--force', '--ignore', '--time', '0', id);
    await program.stop();
  });
  return { id, program };
}

/** A pod that runs here. */
export interface Pod {
  /** Runs as long as the pod; ends when the pod cannot be started. */
  readonly program: Program;
  /** All that a container of it has printed. */
  logOf(container: string): Promise<string>;
}

/**
 * Runs a pod as a kubelet would, with the network of this machine; it is gone
 * when the test is over. `spec` is that of a Pod, without sidecars among its
 * init containers, which podman does not know.
 */
export function playPod(name: string, spec: object): Pod {
  const file = join(scratchFolder(), `${name}.yaml`);
  // With another policy podman starts init containers again that have ended.
  const whole = { restartPolicy: 'OnFailure', hostNetwork: true, ...spec };
  writeFileSync(file, stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: whole }));
  const program = new Program({
    name,
    // podman leaves when the pod runs; its keeper then stays for the pod.
    command: [
      ...['env', ...settingsOfPodman(), 'sh', '-c', '"$@" && exec sleep infinity', 'play'],
      ...['podman', ...store(), 'kube', 'play', '--network', 'host', file],
    ],
  });
  onTestFinished(async () => {
    await podman('kube', 'down', file);
    await podman('volume', 'prune', '--force');
    await program.stop();
  });
  return {
    program,
    logOf: async (container) => {
      const { stdout, stderr } = await podman('logs', `${name}-${container}`);
      return stdout + stderr;
    },
  };
}

function store(): string[] {
  return [
    ...['--root', peerPath('image-tools', 'store'), '--runroot', peerPath('image-tools', 'run')],
    ...['--storage-driver', 'overlay'],
  ];
}

function settingsOfPodman(): string[] {
  return [
    `CONTAINERS_CONF=${peerPath('image-tools', 'containers.conf')}`,
    `CONTAINERS_REGISTRIES_CONF=${peerPath('image-tools', 'registries.conf')}`,
  ];
}

function buildah(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, CONTAINERS_REGISTRIES_CONF: peerPath('image-tools', 'registries.conf') };
  // A first build installs all packages, from a registry that may be slow.
  return execute('buildah', [...store(), ...args], { env, timeout: 540_000, maxBuffer: 64 << 20 });
}

/**
 * A folder with what npm needs to know inside a build: this machine's registry
 * and the authorities that it trusts. It lies over the image's own for the time
 * of the build, and enters no layer.
 */
async function npmSettings(): Promise<string> {
  const folder = join(scratchFolder(), 'npm-settings');
  mkdirSync(folder, { recursive: true });
  const lines = [`registry=${await npmSetting('registry')}`];
  const cafile = await npmSetting('cafile');
  const authorities = existsSync(cafile) ? cafile : process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities !== undefined) {
    copyFileSync(authorities, join(folder, 'authorities.pem'));
    lines.push('cafile=/usr/local/etc/authorities.pem');
  }
  writeFileSync(join(folder, 'npmrc'), lines.map((line) => `${line}\n`).join(''));
  return folder;
}

async function npmSetting(name: string): Promise<string> {
  const { stdout } = await execute('npm', ['config', 'get', name], { cwd: ROOT });
  return stdout.trim();
}
