import { describe, expect, it } from 'vitest';
import { quotedCommands } from '../../../../src/tools/doctor/gather/quoted-commands.js';

const FRONTEND = 'python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 16';
const WORKER = 'python3 -m dynamo.vllm --model Qwen/Qwen3-0.6B --block-size 64';

async function foundIn(...lines: readonly string[]): Promise<readonly string[]> {
  const { findings = [] } = await quotedCommands({ file: 'issue.txt', text: lines.join('\n') });
  return findings.map(({ ruleId, file, line }) => `${ruleId} ${file}:${line}`);
}

describe('commands that a text quotes', () => {
  it('are compared with each other, and named by their lines', async () => {
    expect(await foundIn('No block is ever found with this:', '', FRONTEND, WORKER)).toContain(
      'block-size-mismatch issue.txt:3',
    );
  });

  it('are read behind the prompt of a shell, the mark of set -x, and a word of who starts them', async () => {
    for (const before of ['$ ', 'root@node-1:/work# ', '++ ', 'Command: ', '(venv) '])
      expect(await foundIn(`${before}${FRONTEND}`, `${before}${WORKER}`)).toContain(
        'block-size-mismatch issue.txt:1',
      );
  });

  it('are read over several lines, also where backslashes were lost', async () => {
    const [program = '', flag = ''] = WORKER.split(' --model');
    expect(await foundIn(FRONTEND, `${program} \\`, `  --model${flag}`)).toContain(
      'block-size-mismatch issue.txt:1',
    );
    expect(await foundIn(FRONTEND, program, `  --model${flag}`)).toContain('block-size-mismatch issue.txt:1');
  });

  it('keep JSON that goes over several lines within its quotes', async () => {
    const [program, size] = WORKER.split(' --block-size ');
    const lines = [`${program} --kv-events-config '{`, '  "publisher": "zmq"', `}' --block-size ${size}`];
    expect(await foundIn(FRONTEND, ...lines, 'INFO a line')).toContain('block-size-mismatch issue.txt:1');
  });

  it('tell seeds that differ between engines of one model', async () => {
    const engine = `vllm serve Qwen/Qwen3-0.6B --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'`;
    expect(await foundIn(`PYTHONHASHSEED=0 ${engine}`, `PYTHONHASHSEED=7 ${engine} --port 8200`)).toContain(
      'hash-seed-differs issue.txt:2',
    );
  });

  it('show one alone that has settings of a cache and does not switch it on', async () => {
    const engine = 'LMCACHE_CHUNK_SIZE=256 vllm serve m --block-size 64';
    expect(await foundIn(engine, 'INFO a line')).toEqual(['cache-settings-unread issue.txt:1']);
    expect(await foundIn('$ export LMCACHE_LOCAL_CPU=True', '$ vllm serve m')).toEqual([
      'cache-settings-unread issue.txt:1',
    ]);
  });

  it('show nothing of a cache whose own lines are beside them', async () => {
    const line =
      '[2026-11-28 12:00:09,311] LMCache INFO: Storing KV cache for 256 tokens (cache_engine.py:1:lmcache.v1.cache_engine)';
    expect(await foundIn('LMCACHE_CHUNK_SIZE=256 vllm serve m', line)).toEqual([]);
  });

  it('give no edits, as the text is nobody’s manifest', async () => {
    const { findings = [], manifests } = await quotedCommands({
      file: 'issue.txt',
      text: `${FRONTEND}\n${WORKER}`,
    });
    expect(findings.every((finding) => !('fix' in finding))).toBe(true);
    expect(manifests).toBeUndefined();
  });

  it('are quiet where they agree, where there is one alone, and where lines only speak of programs', async () => {
    expect(await foundIn(FRONTEND, WORKER.replace('64', '16'))).toEqual([]);
    expect(await foundIn(WORKER)).toEqual([]);
    expect(
      await foundIn(
        'INFO 03-03 10:00:00 [api_server.py:1] vllm serve was started with --block-size 64',
        'usage: vllm serve [-h] [--block-size BLOCK_SIZE]',
        'I replaced python3 -m dynamo.frontend by a router of my own',
      ),
    ).toEqual([]);
  });

  it('hold nothing up where a line is made of variables alone', async () => {
    expect(await foundIn(`${'A="a" '.repeat(5000)}x`, "A='a' b=c ".repeat(5000))).toEqual([]);
  });

  it('say nothing of sizes and settings where nothing contradicts', async () => {
    expect(
      await quotedCommands({ file: 'run.log', text: `${FRONTEND}\n${WORKER.replace('64', '16')}` }),
    ).toEqual({});
  });
});
