import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function reportOf(...lines: readonly string[]) {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
}

const LINE =
  "[2026-10-20 09:12:24,318] WARNING: No prefill endpoints found with labels ['prefill']. Available endpoints: [] (routing_logic.py:614:vllm_router.routers.routing_logic)";

describe('a known fault that an excerpt shows too seldom', () => {
  it('is no finding, and is named with its cure', async () => {
    const { verdict, headline, advice } = await reportOf(LINE);
    expect(verdict).toBe('unknown');
    expect(headline).toBe(
      "Nothing lasting was seen, but once: The production stack's router has no prefill engine: requests get 503",
    );
    expect(advice).toContain('Where it goes on: give the prefill pods the label model');
  });

  it('is a finding where it came often enough', async () => {
    const { verdict, headline } = await reportOf(LINE, LINE, LINE);
    expect(verdict).toBe('findings');
    expect(headline).toMatch(/^The production stack's router has no prefill engine/);
  });

  it('is not named in a long log', async () => {
    const { headline } = await reportOf(LINE, ...Array.from({ length: 100 }, () => 'INFO: all is well'));
    expect(headline).not.toContain('but once');
  });
});

describe('what a router passes on of an engine', () => {
  const router = '[2026-10-20 09:12:24,318] ERROR: [51f0] Prefill failed with status';
  const whose = '(request.py:825:vllm_router.services.request_service.request)';

  it('is read as the sentence of the engine where a rule knows it', async () => {
    const said = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens";
    const line = `${router} 400: {"message":"${said}"} ${whose}`;
    const { verdict, headline } = await reportOf(line, line);
    expect(verdict).toBe('unknown');
    expect(headline).toContain('refused requests that are longer than it takes (4096 tokens)');
  });

  it('is a fault of the pair where no rule does', async () => {
    const line = `${router} 500: {"message":"something of its own"} ${whose}`;
    const { headline } = await reportOf(line, line);
    expect(headline).toContain('Prefill engines answer the router with 500');
  });
});
