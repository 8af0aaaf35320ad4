import { describe, expect, it } from 'vitest';
import { type KeeperOptions, ProgramKeeper } from '../../../../src/cli/commands/exec/program-keeper.js';
import { EXIT_CONFLICT } from '../../../../src/cli/exit-codes.js';
import type { Child, StartChild } from '../../../../src/edge/platform/processes/child-process.js';
import { SpawnError } from '../../../../src/edge/platform/processes/child-process.js';
import { exitCodeOfSignal } from '../../../../src/edge/platform/processes/process-signals.js';
import { Agreement, AgreementState } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { FakeAgreementSource } from '../../../support/fake-agreement-source.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

/** A program that ends when the test says so. */
class FakeChild implements Child {
  readonly signals: NodeJS.Signals[] = [];
  readonly exited: Promise<number>;
  #exit: (code: number) => void = () => undefined;
  readonly #endsBy: readonly NodeJS.Signals[];

  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;

  constructor(
    command: readonly string[],
    environment: Readonly<Record<string, string | undefined>>,
    endsBy: readonly NodeJS.Signals[],
  ) {
    this.command = command;
    this.environment = environment;
    this.#endsBy = endsBy;
    this.exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL' || this.#endsBy.includes(signal)) this.#exit(exitCodeOfSignal(signal));
  }

  exit(code: number): void {
    this.#exit(code);
  }
}

class Stage {
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  readonly source = new FakeAgreementSource();
  readonly children: FakeChild[] = [];
  /** By which signals programs end. */
  endsBy: readonly NodeJS.Signals[] = ['SIGTERM'];
  /** What happens while a program is being started. */
  whileStarting: () => void | Promise<void> = () => undefined;
  listeners = 0;
  #onSignal: (signal: NodeJS.Signals) => void = () => undefined;

  run(options: Partial<KeeperOptions> = {}, size = 32): Promise<number> {
    this.source.agree(size);
    const startChild: StartChild = async (command, args, environment) => {
      await this.whileStarting();
      const child = new FakeChild([command, ...args], environment, this.endsBy);
      this.children.push(child);
      return child;
    };
    const keeper = new ProgramKeeper(
      {
        group: undefined,
        frontendUses: 'observed',
        operands: ['serve'],
        environment: {},
        variables: ['SIZE'],
        onChange: 'restart',
        childGraceMs: 30_000,
        hasTerminal: false,
        ...options,
      },
      {
        source: this.source,
        clock: this.clock,
        logger: this.logger,
        startChild,
        listenForSignals: (_, onSignal) => {
          this.listeners += 1;
          this.#onSignal = onSignal;
          return () => {
            this.listeners -= 1;
          };
        },
      },
    );
    return keeper.run(size);
  }

  /** The process gets a signal. */
  send(signal: NodeJS.Signals): void {
    this.#onSignal(signal);
  }

  /** The last program, once so many have been started. */
  async child(count = 1): Promise<FakeChild> {
    await this.clock.advanceMs(0);
    const child = this.children[count - 1];
    if (child === undefined || this.children.length !== count) {
      throw new Error(`${this.children.length} programs were started, not ${count}`);
    }
    return child;
  }

  /** Nothing is left of a keeper that has ended. */
  expectNothingLeft(): void {
    expect([this.listeners, this.source.watchers.size, this.clock.pendingTimers]).toEqual([0, 0, 0]);
  }
}

describe('a program under a keeper', () => {
  it('gets the size in its variables and arguments, beside the environment', async () => {
    const stage = new Stage();
    const operands = [
      'serve',
      '--block-size',
      '{tokens_per_block}',
      'x={tokens_per_block}/{tokens_per_block}',
    ];
    const environment = { PATH: '/bin', SIZE: 'old' };
    const ended = stage.run({ operands, environment, variables: ['SIZE', 'OTHER'] });
    const child = await stage.child();
    expect(child.command).toEqual(['serve', '--block-size', '32', 'x=32/32']);
    expect(child.environment).toEqual({ PATH: '/bin', SIZE: '32', OTHER: '32' });
    child.exit(7);
    expect(await ended).toBe(7);
    stage.expectNothingLeft();
  });

  it('is restarted with the new size when the fleet changes', async () => {
    const stage = new Stage();
    const ended = stage.run();
    const first = await stage.child();
    stage.source.agree(64);
    const second = await stage.child(2);
    expect(first.signals).toEqual(['SIGTERM']);
    expect(second.environment).toEqual({ SIZE: '64' });
    expect(stage.logger.messages('warn')).toEqual([
      'The fleet changed its KV block size from 32 to 64 while the program runs: it is restarted',
    ]);
    second.exit(0);
    expect(await ended).toBe(0);
    stage.expectNothingLeft();
  });

  it('is started with the size that holds when the one before has ended at last', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run();
    const first = await stage.child();
    stage.source.agree(64);
    await stage.clock.advanceMs(10);
    stage.source.agree(128);
    first.exit(0);
    expect((await stage.child(2)).environment).toEqual({ SIZE: '128' });
    stage.children[1]?.exit(0);
    await ended;
  });

  it('is not restarted into a conflict that came while the one before was ending', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run();
    const first = await stage.child();
    stage.source.agree(64);
    await stage.clock.advanceMs(10);
    stage.source.contradict('Worker w-1 declares 32 but its engine uses 64');
    first.exit(0);
    expect(await ended).toBe(EXIT_CONFLICT);
    expect(stage.children).toHaveLength(1);
    expect(stage.logger.messages('error')).toEqual([
      'The workers came into conflict while the program ended: it is not restarted.\n' +
        'Worker w-1 declares 32 but its engine uses 64',
    ]);
    stage.expectNothingLeft();
  });

  it('is started with the value it was ended for while it is not known what holds by then', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run();
    const first = await stage.child();
    stage.source.agree(64);
    await stage.clock.advanceMs(10);
    const state = AgreementState.COLLECTING;
    stage.source.say(Agreement.fromPartial({ group: 'tiny', state }));
    first.exit(0);
    expect((await stage.child(2)).environment).toEqual({ SIZE: '64' });
    stage.children[1]?.exit(0);
    await ended;
  });

  it('sees a change that came while it was being started', async () => {
    const stage = new Stage();
    stage.whileStarting = () => {
      if (stage.children.length === 0) stage.source.agree(64);
    };
    const ended = stage.run();
    expect((await stage.child(2)).environment).toEqual({ SIZE: '64' });
    stage.children[1]?.exit(0);
    await ended;
  });

  it('is left alone by everything that is no other size', async () => {
    const stage = new Stage();
    const ended = stage.run();
    const child = await stage.child();
    stage.source.agree(32);
    const state = AgreementState.COLLECTING;
    stage.source.say(Agreement.fromPartial({ group: 'tiny', state }));
    stage.source.agree(32);
    await stage.child();
    expect(child.signals).toEqual([]);
    child.exit(0);
    await ended;
    expect(stage.logger.messages('error')).toEqual([]);
  });

  it('goes on through a conflict, which is logged once as an error, and so is its end', async () => {
    const stage = new Stage();
    const ended = stage.run();
    const child = await stage.child();
    stage.source.contradict('Worker w-1 declares 32 but its engine uses 64');
    stage.source.contradict('Worker w-1 and w-2 declare 32 but their engines use 64');
    stage.source.say(Agreement.fromPartial({ group: 'tiny', state: AgreementState.COLLECTING }));
    stage.source.contradict('Worker w-2 declares 32 but its engine uses 64');
    expect(stage.logger.messages('error')).toEqual([
      'The workers came into conflict while the program runs: it goes on with KV block size 32, and KV-aware ' +
        'routing will not work for all workers until this is fixed.\n' +
        'Worker w-1 declares 32 but its engine uses 64',
    ]);
    stage.source.agree(32);
    stage.source.agree(32);
    expect(stage.logger.messages('info').slice(1)).toEqual([
      'The conflict is over: the workers agree on KV block size 32',
    ]);
    stage.source.contradict('again');
    expect(stage.logger.messages('error')).toHaveLength(2);
    expect(child.signals).toEqual([]);
    child.exit(0);
    expect(await ended).toBe(0);
    stage.expectNothingLeft();
  });

  it('is restarted when a conflict ends with another size', async () => {
    const stage = new Stage();
    const ended = stage.run();
    await stage.child();
    stage.source.contradict('32 here, 64 there');
    stage.source.agree(64);
    expect((await stage.child(2)).environment).toEqual({ SIZE: '64' });
    expect(stage.logger.messages('error')).toHaveLength(1);
    stage.children[1]?.exit(0);
    await ended;
    stage.expectNothingLeft();
  });

  it('is killed after the grace time when it does not end by itself', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run({ childGraceMs: 5_000 });
    const first = await stage.child();
    stage.source.agree(64);
    await stage.clock.advanceMs(4_999);
    expect(first.signals).toEqual(['SIGTERM']);
    await stage.clock.advanceMs(1);
    expect(first.signals).toEqual(['SIGTERM', 'SIGKILL']);
    expect(stage.logger.messages('warn')[1]).toBe(
      'The program did not end within 5 s of SIGTERM (--child-grace): it is killed',
    );
    (await stage.child(2)).exit(0);
    expect(await ended).toBe(0);
    stage.expectNothingLeft();
  });
});

describe('--on-change', () => {
  it('exit: ends the program and then with the code of a conflict', async () => {
    const stage = new Stage();
    const ended = stage.run({ onChange: 'exit' });
    const child = await stage.child();
    stage.source.agree(64);
    expect(await ended).toBe(4);
    expect(child.signals).toEqual(['SIGTERM']);
    stage.expectNothingLeft();
  });

  it('ignore: logs each change once, and when it is over', async () => {
    const stage = new Stage();
    const ended = stage.run({ onChange: 'ignore' });
    const child = await stage.child();
    for (const size of [64, 64, 128, 32]) stage.source.agree(size);
    expect(child.signals).toEqual([]);
    expect(stage.logger.messages('warn')).toEqual([
      expect.stringContaining('from 32 to 64 while the program runs: it goes on with the old value'),
      expect.stringContaining('from 32 to 128'),
    ]);
    expect(stage.logger.messages('info').at(-1)).toBe(
      'The fleet is back at the KV block size 32 that the program runs with',
    );
    child.exit(0);
    expect(await ended).toBe(0);
  });
});

describe('signals', () => {
  it.each(['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT', 'SIGWINCH'] as const)(
    'passes %s on to the program, once',
    async (signal) => {
      const stage = new Stage();
      stage.endsBy = [];
      const ended = stage.run();
      const child = await stage.child();
      stage.send(signal);
      expect(child.signals).toEqual([signal]);
      child.exit(3);
      expect(await ended).toBe(3);
    },
  );

  it.each(['SIGINT', 'SIGQUIT', 'SIGWINCH'] as const)(
    'leaves %s to the terminal, which sends it to the program itself',
    async (signal) => {
      const stage = new Stage();
      const ended = stage.run({ hasTerminal: true });
      const child = await stage.child();
      stage.send(signal);
      expect(child.signals).toEqual([]);
      stage.send('SIGHUP');
      expect(child.signals).toEqual(['SIGHUP']);
      child.exit(0);
      await ended;
    },
  );

  it('keeps what comes while the program is being started', async () => {
    const stage = new Stage();
    stage.whileStarting = () => stage.send('SIGTERM');
    expect(await stage.run()).toBe(143);
    expect(stage.children.map(({ signals }) => signals)).toEqual([['SIGTERM']]);
    stage.expectNothingLeft();
  });

  it('starts nothing more once it was asked to end, however the fleet changes', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run();
    const child = await stage.child();
    stage.send('SIGTERM');
    stage.source.agree(64);
    await stage.clock.advanceMs(3_600_000);
    // It takes its time to end in order: no second signal, no haste.
    expect(child.signals).toEqual(['SIGTERM']);
    child.exit(0);
    expect(await ended).toBe(0);
    expect(stage.children).toHaveLength(1);
  });

  it('sends no second SIGTERM to a program that ends already, and starts no other', async () => {
    const stage = new Stage();
    stage.endsBy = [];
    const ended = stage.run();
    const child = await stage.child();
    stage.source.agree(64);
    await stage.clock.advanceMs(1);
    stage.send('SIGTERM');
    expect(child.signals).toEqual(['SIGTERM']);
    child.exit(0);
    expect(await ended).toBe(0);
    expect(stage.children).toHaveLength(1);
    stage.expectNothingLeft();
  });
});

it('leaves nothing behind when the program cannot be started', async () => {
  const stage = new Stage();
  stage.whileStarting = () => {
    throw new SpawnError('serve', Object.assign(new Error('no'), { code: 'ENOENT' }));
  };
  await expect(stage.run()).rejects.toThrow('cannot run "serve": not found on PATH');
  stage.expectNothingLeft();
});
