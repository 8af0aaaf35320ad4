import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

async function errorOf(...lines: readonly string[]): Promise<string | undefined> {
  const { failures } = await summaryOf(`${lines.join('\n')}\n`);
  return failures?.find(({ ends }) => ends > 0)?.sentence;
}

const PLACE =
  "thread '<unnamed>' panicked at /usr/local/cargo/registry/src/index.crates.io-1949/hyper-util-0.1.17/src/rt/tokio.rs:115:9:";
const NOTE = 'note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace';

describe('a panic of Rust', () => {
  it('has its message in the next line', async () => {
    expect(await errorOf(PLACE, 'there is no reactor running', NOTE)).toBe(
      'panicked at hyper-util-0.1.17/src/rt/tokio.rs: there is no reactor running',
    );
  });

  it('has what an unwrapped value says', async () => {
    expect(
      await errorOf(
        "thread 'main' panicked at lib/llm/src/layout.rs:115:9:",
        'called `Result::unwrap()` on an `Err` value: InvalidConfig("num_blocks must be > 0")',
      ),
    ).toBe('panicked at lib/llm/src/layout.rs: InvalidConfig("num_blocks must be > 0")');
  });

  it('of older versions has it before its place', async () => {
    expect(await errorOf("thread 'main' panicked at 'no entry found for key', src/main.rs:7:5", NOTE)).toBe(
      'panicked at src/main.rs: no entry found for key',
    );
  });

  it('has its message although another thread panics in between', async () => {
    expect(await errorOf(PLACE, PLACE, 'there is no reactor running')).toContain('no reactor running');
  });

  it('whose message is cut off has its place', async () => {
    expect(await errorOf(PLACE, NOTE)).toBe('panicked at hyper-util-0.1.17/src/rt/tokio.rs');
    expect(await errorOf(PLACE)).toBe('panicked at hyper-util-0.1.17/src/rt/tokio.rs');
  });
});
