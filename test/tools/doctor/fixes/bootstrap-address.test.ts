import { describe, expect, it } from 'vitest';
import { bootstrapAddressIn, repairedAddress } from '../../../../src/tools/doctor/fixes/bootstrap-address.js';

describe('the address of a bootstrap server', () => {
  it('is read of what decode engines write', () => {
    expect(
      bootstrapAddressIn('Could not fetch prefill parallel info from bootstrap_addr: prefill-svc:30000'),
    ).toEqual({ host: 'prefill-svc', port: 30000 });
    expect(
      bootstrapAddressIn(
        "Error fetching prefill parallel info from bootstrap: HTTPConnectionPool(host='prefill', port=8998): Max retries exceeded",
      ),
    ).toEqual({ host: 'prefill', port: 8998 });
    expect(bootstrapAddressIn('requests timed out when bootstrapping')).toBeUndefined();
  });

  it('leads elsewhere with the port of requests, or with the address of the decode engine itself', () => {
    expect(repairedAddress({ host: 'prefill-svc', port: 30000 })).toContain('8998');
    expect(repairedAddress({ host: '127.0.0.1', port: 8998 })).toContain('--prefill http://POD_IP:PORT');
  });

  it('is none where a decode engine was asked without a router', () => {
    expect(repairedAddress({ host: 'none', port: 8998 })).toContain('router');
  });

  it('may be right with the port that is the default', () => {
    expect(repairedAddress({ host: '10.0.0.4', port: 8998 })).toBeUndefined();
  });
});
