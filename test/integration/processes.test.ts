import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority, TestFolder } from '../edge/rpc/certificates.js';
import { type LogLine, Program, requireBuild } from '../support/program.js';

beforeAll(requireBuild);

const programs: Program[] = [];
afterEach(async () => {
  for (const program of programs.splice(0)) await program.end('SIGKILL');
});

function start(...args: string[]): Program {
  const program = new Program(args);
  programs.push(program);
  return program;
}

describe('the processes together', () => {
  it('a sidecar that is killed hard is lost for a while, and goes on as before when it is back', async () => {
    const folder = new TestFolder();
    const socket = folder.path('sidecar.sock');
    const sidecarArgs = ['sidecar', '--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny'];
    const places = ['--listen', `unix:${socket}`, '--http-listen', '127.0.0.1:0', '--worker-id', 'w-0'];
    const first = start(...sidecarArgs, ...places);
    await first.until(({ msg }) => msg.startsWith('Serving'));
    const aggregator = start(
      'aggregator',
      '--workers',
      `unix:${socket}`,
      '--listen',
      '127.0.0.1:0',
      '--http-listen',
      '127.0.0.1:0',
    );
    await aggregator.until(({ code }) => code === 'agreed');

    await first.end('SIGKILL');
    await aggregator.until(({ code }) => code === 'worker_lost');
    start(...sidecarArgs, ...places);
    await aggregator.until(({ code }) => code === 'worker_back');
    expect(aggregator.lines.filter(({ code }) => code === 'agreed')).toHaveLength(1);
    expect(await aggregator.end('SIGTERM')).toBe(0);
  });

  it('everything speaks mutual TLS, and certificates that rotate drop no stream', async () => {
    const folder = new TestFolder();
    const authority = await TestAuthority.create();
    const ca = folder.write('ca.crt', authority.pem);
    const write = async (): Promise<void> => {
      folder.writeIdentity('peer', await authority.issue());
    };
    await write();
    const tls = [
      ...['--tls-cert', folder.path('peer.crt'), '--tls-key', folder.path('peer.key'), '--tls-ca', ca],
      ...['--tls-client-auth', 'require'],
    ];
    const sidecar = start(
      ...['sidecar', '--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny', '--json'],
      ...['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', ...tls],
    );
    await sidecar.until(({ msg }) => msg.startsWith('Serving'));
    const address = /gRPC on (\S+)/.exec(sidecar.lines.map(({ msg }) => msg).join('\n'))?.[1] ?? '';
    const aggregator = start(
      ...[
        'aggregator',
        '--workers',
        address,
        '--listen',
        '127.0.0.1:0',
        '--http-listen',
        '127.0.0.1:0',
        ...tls,
      ],
    );
    await aggregator.until(({ code }) => code === 'agreed');

    await write();
    const tookUp = ({ msg }: LogLine): boolean => msg.startsWith('Took up new TLS');
    await Promise.all([sidecar.until(tookUp), aggregator.until(tookUp)]);
    expect(aggregator.lines.filter(({ code }) => code === 'worker_lost')).toEqual([]);

    const stranger = start('wait', '--workers', address, '--tls-ca', ca, '--timeout', '1s');
    await stranger.changes.until(() => stranger.child.exitCode !== null);
    expect(stranger.child.exitCode).toBe(5);
    expect(await sidecar.end('SIGTERM')).toBe(0);
    expect(await aggregator.end('SIGTERM')).toBe(0);
  });
});
