import { describe, expect, it } from 'vitest';
import { addSharedLibrary } from '../../../../src/tools/doctor/fixes/missing-libraries.js';

describe('a shared library that the loader does not find', () => {
  it.each([
    ['libmlx5.so.1: cannot open shared object file: No such file or directory', 'ibverbs-providers'],
    ['libucp.so.0: cannot open shared object file: No such file or directory', 'nixl-cu12'],
    ['libascendcl.so: cannot open shared object file: No such file or directory', 'set_env.sh'],
    ['libetcd_wrapper.so: cannot open shared object file: No such file or directory', 'import mooncake'],
  ])('%s: %s', (sentence, says) => {
    expect(addSharedLibrary(sentence)?.says).toContain(says);
  });

  it('says nothing of a library of no known package', () => {
    expect(addSharedLibrary('libfoo.so.1: cannot open shared object file')).toBeUndefined();
    expect(addSharedLibrary("No module named 'lmcache'")).toBeUndefined();
  });
});
