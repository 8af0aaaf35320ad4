import { describe, expect, it } from 'vitest';
import { installLibrary } from '../../../../src/tools/doctor/fixes/programs.js';

describe('a library that is called in other words than it has', () => {
  it.each([
    [
      "LMCacheEngine.lookup() got an unexpected keyword argument 'request_id'",
      'Run lmcache in the version',
      'pip install lmcache==VERSION',
    ],
    [
      "'UCMDirectConnector' object has no attribute 'block_data_size'",
      'Run ucm in the version',
      'pip install uc-manager==VERSION',
    ],
    [
      "TypeError: NixlConnector.__init__() missing 1 required positional argument: 'kv_cache_config'",
      'Run the engine and the package',
      'kv_connector_module_path',
    ],
  ])('is run in another version: %s', (sentence, first, second) => {
    const { says } = installLibrary(sentence);
    expect(says).toContain(first);
    expect(says).toContain(second);
  });

  it("is no package of Python's where it is a part of UCX", () => {
    const { says } = installLibrary('/usr/lib/libucp.so.0: undefined symbol: ucm_global_opts');
    expect(says).toContain('Have one UCX in the image');
    expect(installLibrary('libucm.so.0: cannot open shared object file').says).not.toContain('uc-manager');
  });

  it('is added where it is not there', () => {
    expect(installLibrary("No module named 'nixl'").says).toContain('Add nixl to the image');
  });
});
