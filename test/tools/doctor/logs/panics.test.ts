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

describe('a panic of Go', () => {
  const MESSAGE = 'panic: runtime error: invalid memory address or nil pointer dereference';

  it('has the first function of the program below it, and the program', async () => {
    expect(
      await errorOf(
        MESSAGE,
        '[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x2a02837]',
        '',
        'goroutine 159 [running]:',
        'sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller[...]).Reconcile.func1()',
        '\t/go/pkg/mod/sigs.k8s.io/controller-runtime@v0.20.4/pkg/internal/controller/controller.go:108 +0x112',
        'github.com/agentgateway/agentgateway/controller/pkg/agentgateway/plugins.translatePoliciesForInferencePool(...)',
      ),
    ).toBe(`${MESSAGE} in translatePoliciesForInferencePool of agentgateway`);
  });

  it('of a method has its type', async () => {
    expect(
      await errorOf(
        MESSAGE,
        'goroutine 1 [running]:',
        'sigs.k8s.io/gateway-api-inference-extension/cmd/epp/runner.(*Runner).Run(0xc0001)',
      ),
    ).toBe(`${MESSAGE} in (*Runner).Run of gateway-api-inference-extension`);
  });

  it('whose frames are cut off has its message', async () => {
    expect(await errorOf(MESSAGE, 'goroutine 1 [running]:')).toBe(MESSAGE);
  });

  it('has its place behind lines of other programs, and is given up among them', async () => {
    const of = (pod: string, line: string): string => `[pod/${pod}/main] ${line}`;
    const others = Array.from({ length: 30 }, () => of('busy-0', 'INFO: a line'));
    const frame = 'github.com/llm-d/llm-d-router/pkg/scorer.(*Scorer).Score(0xc0)';
    const message = of('epp-0', MESSAGE);
    expect(await errorOf(message, ...others, of('epp-0', frame))).toContain(
      'in (*Scorer).Score of llm-d-router',
    );
    const many = Array.from({ length: 5 }, () => others).flat();
    expect(await errorOf(message, ...many, of('epp-0', frame))).toBe(MESSAGE);
  });
});
