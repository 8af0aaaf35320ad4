import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { evidenceSourceName } from '../../../src/core/contract/wire/names.js';
import { hasUnprintable } from '../../../src/core/text/printable.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { DynamoFileSource, type DynamoFileSourceModules } from '../../../src/fleet/discovery/dynamo-file.js';
import type { Endpoint } from '../../../src/fleet/discovery/source.js';
import {
  type CardSketch,
  cardFileName,
  DynamoFolder,
  dynamoRecording,
  modelCard,
  workerName,
} from '../../support/dynamo-folder.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { type RunningSource, runSource } from './source-recorder.js';

const open = new OpenThings();
afterEach(() => open.close());

const ONE = '4f163da561a23766';
const TWO = 'e624f07d6a5899e9';
const discovered = (instanceId: string): string => `${workerName(instanceId)} (discovered)`;

/** A discovery folder in memory, on a clock that the test moves. */
class FakeFolder {
  readonly clock = new FakeClock();
  readonly files = new Map<string, { text: string; modifiedAtMs: number }>();
  /** What looking at the cards' folder rejects with. */
  fault: Error | undefined;
  /** The same of the folder around it. */
  outerFault: Error | undefined;

  get modules(): Required<DynamoFileSourceModules> {
    return {
      clock: this.clock,
      listFiles: async (folder) => {
        const fault = folder === '/kv' ? this.outerFault : this.fault;
        if (fault !== undefined) throw fault;
        return [...this.files.keys()].sort();
      },
      readFile: async (path) => {
        const file = this.files.get(path.slice('/kv/v1/mdc/'.length));
        return file === undefined
          ? undefined
          : { content: Buffer.from(file.text), modifiedAtMs: file.modifiedAtMs };
      },
    };
  }

  /** Writes a file now. */
  write(name: string, text: string): void {
    this.files.set(name, { text, modifiedAtMs: this.clock.wallMs() });
  }

  register(instanceId: string, sketch: CardSketch = {}): void {
    this.write(cardFileName(instanceId), modelCard(sketch));
  }

  /** What the workers do every few seconds. */
  renew(...instanceIds: readonly string[]): void {
    for (const instanceId of instanceIds) {
      const file = this.files.get(cardFileName(instanceId));
      if (file !== undefined) file.modifiedAtMs = this.clock.wallMs();
    }
  }

  async run(): Promise<RunningSource> {
    const run = runSource(new DynamoFileSource({ folder: '/kv', text: 'dynamo-file:///kv' }, this.modules));
    await this.clock.advanceMs(0);
    return run;
  }
}

/** Each block size of a worker with where it is from. */
function sizesOf(endpoint: Endpoint | undefined): string[] {
  return (endpoint?.discovered?.facts ?? []).flatMap((fact) =>
    fact.type === 'block_size' ? [`${fact.size.sizeTokens} ${evidenceSourceName(fact.evidence.source)}`] : [],
  );
}

describe("the workers in Dynamo's file discovery", () => {
  it('are those with a model card in the recorded tree, with what their cards configure', async () => {
    const folder = new FakeFolder();
    const tree = JSON.parse(dynamoRecording('file-discovery-tree.json')) as {
      path: string;
      content: object;
    }[];
    for (const { path, content } of tree) {
      if (path.startsWith('v1/mdc/')) folder.write(path.slice('v1/mdc/'.length), JSON.stringify(content));
    }
    const run = await folder.run();
    expect(run.lists).toEqual([[discovered(ONE), discovered(TWO)]]);
    const [first] = run.endpoints[0] ?? [];
    expect(sizesOf(first)).toEqual(['32 engine_config']);
    expect(first?.discovered).toMatchObject({
      instanceId: ONE,
      warnings: [],
      aliases: [ONE, '127.0.0.1:27011'],
    });
    expect(first?.discovered?.facts[0]?.evidence.origin).toBe(`file /kv/v1/mdc/${cardFileName(ONE)}`);
    expect(run.errors).toEqual([]);
  });

  it('are listed again when one comes, changes its card or goes, and not when a card is only renewed', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    const run = await folder.run();
    folder.register(TWO, { size: 16 });
    await folder.clock.advanceMs(1_000);
    folder.renew(ONE, TWO);
    await folder.clock.advanceMs(5_000);
    folder.register(TWO, { size: 64 });
    await folder.clock.advanceMs(1_000);
    folder.files.delete(cardFileName(ONE));
    await folder.clock.advanceMs(1_000);
    expect(run.lists).toEqual([
      [discovered(ONE)],
      [discovered(ONE), discovered(TWO)],
      [discovered(ONE), discovered(TWO)],
      [discovered(TWO)],
    ]);
    expect(run.endpoints.map((list) => sizesOf(list.at(-1))[0])).toEqual([
      '32 engine_config',
      '16 engine_config',
      '64 engine_config',
      '64 engine_config',
    ]);
    await run.stop();
    expect(folder.clock.pendingTimers).toBe(0);
  });

  it('are gone when nobody has renewed their cards for 15 s, for a killed one deletes nothing', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    folder.register(TWO);
    const run = await folder.run();
    for (let seconds = 0; seconds < 18; seconds += 3) {
      await folder.clock.advanceMs(3_000);
      folder.renew(TWO);
    }
    expect(run.lists).toEqual([[discovered(ONE), discovered(TWO)], [discovered(TWO)]]);
  });

  it('are not those of an earlier run, which are reported when there are no others', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    await folder.clock.advanceMs(60_000);
    const run = await folder.run();
    await folder.clock.advanceMs(5_000);
    expect(run.lists).toEqual([[]]);
    expect(run.errors).toEqual([
      'dynamo-file:///kv: nobody has renewed the model cards there (1) for 15 s: their workers are gone',
    ]);
    folder.renew(ONE);
    await folder.clock.advanceMs(1_000);
    expect(run.lists).toEqual([[], [discovered(ONE)]]);
  });

  it('are known by their renewals where the clock of their machine is wrong', async () => {
    const folder = new FakeFolder();
    const run = await folder.run();
    for (let seconds = 0; seconds < 60; seconds += 3) {
      folder.register(ONE);
      const file = folder.files.get(cardFileName(ONE));
      if (file !== undefined) file.modifiedAtMs -= 3_600_000;
      await folder.clock.advanceMs(3_000);
    }
    expect(run.lists).toEqual([[], [discovered(ONE)]]);
  });

  it('have the adapters of their further cards, which are no workers of their own', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    folder.write(cardFileName(ONE, 'polite'), modelCard());
    const run = await folder.run();
    expect(run.lists).toEqual([[discovered(ONE)]]);
    const adapters = run.endpoints[0]?.[0]?.discovered?.facts.filter(
      (fact) => fact.type === 'field' && fact.field === 'model.lora_adapters',
    );
    expect(adapters).toMatchObject([{ value: ['polite'] }]);
  });

  it('are read once more when a card is half-written, and stay as they were while it is broken', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    const run = await folder.run();
    folder.write(cardFileName(ONE), modelCard({ size: 16 }).slice(0, 700));
    await folder.clock.advanceMs(1_050);
    folder.register(ONE, { size: 16 });
    await folder.clock.advanceMs(50);
    expect(run.endpoints.map((list) => sizesOf(list[0])[0])).toEqual([
      '32 engine_config',
      '16 engine_config',
    ]);
    expect(run.errors).toEqual([]);
    folder.write(cardFileName(ONE), '{"card_json":');
    await folder.clock.advanceMs(5_000);
    expect(run.lists).toHaveLength(2);
    expect(run.errors).toHaveLength(1);
    expect(run.errors[0]).toContain(
      `dynamo-file:///kv: the model card of ${workerName(ONE)} cannot be read (file /kv/v1/mdc/${cardFileName(ONE)}: expected a JSON object`,
    );
  });

  it('are members, of whom nothing is known, from the first on that is seen of them', async () => {
    const folder = new FakeFolder();
    folder.write(cardFileName(ONE), '{"type":"Model"}');
    const run = await folder.run();
    await folder.clock.advanceMs(3_000);
    expect(run.lists).toEqual([[discovered(ONE)]]);
    expect(run.endpoints[0]?.[0]?.discovered).toMatchObject({
      facts: [],
      problem: expect.stringContaining('has no card_json: no model card'),
    });
  });

  it('stay while the folder cannot be read, are reported again afterwards, and go when it is cleared', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    const run = await folder.run();
    folder.fault = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    await folder.clock.advanceMs(2_000);
    expect(run.errors.at(-1)).toBe('dynamo-file:///kv: /kv/v1/mdc may not be read by this user');
    expect(run.lists).toHaveLength(1);
    folder.fault = undefined;
    folder.renew(ONE);
    await folder.clock.advanceMs(1_000);
    expect(run.lists).toEqual([[discovered(ONE)], [discovered(ONE)]]);
    folder.fault = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    await folder.clock.advanceMs(1_000);
    expect(run.lists.at(-1)).toEqual([]);
  });

  it('are waited for where this user may not read the folder, which is what is then said of it', async () => {
    const folder = new FakeFolder();
    folder.fault = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    folder.outerFault = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const { errors } = await folder.run();
    expect(errors).toEqual([
      'dynamo-file:///kv: the folder /kv may not be read by this user; it must be the one that DYN_FILE_KV names for the workers',
    ]);
  });

  it('are waited for where none has registered yet, and where the folder is another', async () => {
    const made = await DynamoFolder.create(open);
    const here = runSource(
      new DynamoFileSource({ folder: made.path, text: 'here', intervalMs: 10 }, { clock: systemClock }),
    );
    const gone = runSource(
      new DynamoFileSource({ folder: `${made.path}/no`, text: 'gone' }, { clock: systemClock }),
    );
    await here.until(() => here.errors.length > 0);
    expect(here.errors[0]).toBe(
      `here: no worker has registered a model there yet; if one should have, it must run with DYN_DISCOVERY_BACKEND=file and DYN_FILE_KV=${made.path}`,
    );
    await gone.until(() => gone.errors.length > 0);
    expect(gone.errors[0]).toBe(
      `gone: the folder ${made.path}/no does not exist; it must be the one that DYN_FILE_KV names for the workers`,
    );
    // A look may find the folder that the worker makes before the card is in it.
    await made.register(ONE);
    await here.until(() => here.lists.at(-1)?.length === 1);
    expect(here.lists.at(-1)).toEqual([discovered(ONE)]);
    await made.age(ONE, 60_000);
    await made.leave(ONE);
    await here.until(() => here.lists.at(-1)?.length === 0);
  });

  it('are left out with a word where the card is too large or no file', async () => {
    const made = await DynamoFolder.create(open);
    await made.register(ONE);
    await made.register(TWO, ' '.repeat(256 * 1024 + 1));
    await mkdir(join(made.path, 'v1/mdc/.tmp_0123456789abcdef'));
    await writeFile(join(made.path, 'v1/mdc/.tmp_0123456789abcdee'), 'half');
    const run = runSource(new DynamoFileSource({ folder: made.path, text: 'here' }, { clock: systemClock }));
    await run.until(() => run.errors.length === 1);
    expect(run.lists).toEqual([[discovered(ONE)]]);
    expect(run.errors[0]).toMatch(
      /^here: the model card .* has 262145 bytes, at most 262144 are read; it is left out$/,
    );
  });

  it('are never more than can be believed, whatever lies in the folder', async () => {
    const folder = new FakeFolder();
    folder.register(ONE);
    const run = await folder.run();
    for (let at = 0; at <= 10_000; at += 1) folder.write(cardFileName(at.toString(16)), '{}');
    await folder.clock.advanceMs(1_000);
    expect(run.errors).toEqual(['dynamo-file:///kv: has 10002 model cards, at most 10000 are allowed']);
    expect(run.lists).toHaveLength(1);
  });

  it('come out with names and facts that a report can hold, whatever files there are', async () => {
    const part = fc.oneof(
      fc.constantFrom('dynamo', 'a%2Db', '%00', '%0A', '%', '%2F', '..', '', 'é', 'x'.repeat(300)),
      fc.string({ maxLength: 8 }),
    );
    const name = fc.oneof(
      fc.constant(cardFileName(ONE)),
      fc
        .tuple(part, part, part, fc.constantFrom(ONE, 'F', 'ffffffffffffffff1', 'z'))
        .map((all) => all.join('%2F')),
    );
    const text = fc.oneof(
      fc.constant(modelCard()),
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify({ card_json: value })),
      fc.jsonValue().map((value) =>
        JSON.stringify({
          card_json: {
            kv_cache_block_size: value,
            runtime_config: value,
            model_info: { hf_config_json: { path: value } },
          },
        }),
      ),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, text), { maxLength: 8 }), async (files) => {
        const folder = new FakeFolder();
        for (const [path, content] of files) folder.write(path, content);
        const run = await folder.run();
        await folder.clock.advanceMs(200);
        const [list = []] = run.endpoints;
        expect(new Set(list.map(({ target }) => target)).size).toBe(list.length);
        for (const { target, discovered: its } of list) {
          expect(target).toMatch(/^[^/]+\/[^/]+\/[^/]+\/[0-9a-f]{1,16}$/);
          expect(target.length).toBeLessThanOrEqual(255);
          expect(hasUnprintable(target)).toBe(false);
          expect(its?.problem !== undefined || (its?.facts.length ?? 0) > 0).toBe(true);
        }
        await run.stop();
      }),
      { numRuns: 200 },
    );
  });
});
