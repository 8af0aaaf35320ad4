import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

const worker = (mode: string, host: string, port: number, more: string): string =>
  `python -m sglang.launch_server --model-path m --disaggregation-mode ${mode} --host ${host} --port ${port} ${more}\n`;
const ROUTER =
  'python -m sglang_router.launch_router --pd-disaggregation --prefill http://10.0.0.1:30002 8998 --decode http://10.0.0.2:30003\n';

describe('scripts of one folder', () => {
  const files = {
    'd/start_prefill.sh': worker('prefill', '10.0.0.1', 30002, '--page-size 64'),
    'd/start_decode.sh': worker('decode', '0.0.0.0', 30003, '--page-size 1'),
    'd/start_router.sh': ROUTER,
  };
  const differs = ['pair-settings d/start_decode.sh:1 error'];

  it('serve together where the router of one names the addresses of the others', () => {
    expect(found(files)).toEqual(differs);
    expect(inspect(files).notChecked).toEqual([]);
    const unknown = ROUTER.replace('10.0.0.1', '$PREFILL').replace('10.0.0.2', '$DECODE');
    expect(found({ ...files, 'd/start_router.sh': unknown })).toEqual(differs);
  });

  it.each([
    ['no router', { 'd/start_router.sh': '' }],
    ['a router elsewhere', { 'd/start_router.sh': '', 'e/start_router.sh': ROUTER }],
    [
      'a worker at another port',
      { 'd/start_decode.sh': worker('decode', '0.0.0.0', 30009, '--page-size 1') },
    ],
    [
      'a worker at another host',
      { 'd/start_decode.sh': worker('decode', '10.0.0.9', 30003, '--page-size 1') },
    ],
    [
      'two scripts for one address',
      { 'd/start_decode_2.sh': worker('decode', '0.0.0.0', 30003, '--page-size 4') },
    ],
    ['the same settings', { 'd/start_decode.sh': worker('decode', '10.0.0.2', 30003, '--page-size 64') }],
  ])('are not compared, or agree: %s', (_what, other) => {
    expect(found({ ...files, ...other })).toEqual([]);
  });
});
