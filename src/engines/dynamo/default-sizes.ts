import type { DefaultSize } from '../descriptor/default-size.js';

const WHEELS = 'the wheels of 0.9.0, 1.0.0, 1.1.1, 1.2.1, 1.3.1, 1.4.0, 1.5.0 and 1.6.1';

/** Block size of a `dynamo.frontend` without a number, where its own number decides: vLLM's. */
export const FRONTEND_DEFAULT_TOKENS = 16;

/** Block size of a `dynamo.router` without a number. */
export const ROUTER_DEFAULT_TOKENS = 128;

/** What the programs of Dynamo take when nothing sets a size. */
export const DYNAMO_DEFAULT_SIZES: readonly DefaultSize[] = [
  {
    program: 'dynamo.frontend',
    tokensPerBlock: FRONTEND_DEFAULT_TOKENS,
    where: 'where its own number decides (1.0 to 1.2, with a Python chat processor)',
    source: 'frontend/vllm_processor.py and sglang_processor.py of 1.0.0, 1.1.1 and 1.2.1',
  },
  {
    program: 'dynamo.router',
    tokensPerBlock: ROUTER_DEFAULT_TOKENS,
    source: `--router-block-size (--block-size in 0.9) in ${WHEELS}`,
  },
  {
    program: 'dynamo.mocker',
    tokensPerBlock: 64,
    source: `mocker/args.py and mocker/config.py in ${WHEELS}`,
  },
  {
    program: 'dynamo.mocker --engine-type sglang',
    tokensPerBlock: 1,
    since: { major: 1, minor: 3 },
    source: 'mocker/config.py of 1.3.1, 1.4.0 and 1.5.0, help of 1.6.1',
  },
  {
    program: 'dynamo.mocker --engine-type trtllm',
    tokensPerBlock: 32,
    since: { major: 1, minor: 3 },
    source: 'mocker/config.py of 1.3.1, 1.4.0 and 1.5.0, help of 1.6.1',
  },
];
