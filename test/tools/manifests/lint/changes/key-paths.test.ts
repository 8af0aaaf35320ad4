import { describe, expect, it } from 'vitest';
import { writesDeciding } from '../../../../../src/tools/manifests/lint/changes/key-paths.js';

describe('whether an expression of yq or jq writes what findings are about', () => {
  it.each([
    ['.spec.template.spec.containers[0].args[1] = "16"', true],
    ['(select(.kind == "Deployment") | .spec.template.spec.containers[0].args[1]) = "16"', true],
    ['.spec.containers[] |= (.args += ["--block-size=16"])', true],
    ['(.spec.containers[] | select(.name == "main") | .command) = ["x"]', true],
    ['.a = 1 | .env[0].value="x"', true],
    ['.spec.containers[0].image = "x"', false],
    ['.replicas |= 3', false],
    ['select(.args == "x")', false],
    ['.args != "x"', false],
  ])('%s: %s', (expression, writes) => {
    expect(writesDeciding(expression)).toBe(writes);
  });

  it.each([
    ['a picture in a value', `.icon="data:image/png;base64,${'iVBORw0KGgo/AAA'.repeat(8_000)}"`],
    ['spaces', `.a${' '.repeat(100_000)}`],
    ['brackets', '.a('.repeat(40_000)],
    ['brackets that end', '(.a)'.repeat(30_000)],
    ['names without an end', 'a.b '.repeat(30_000)],
  ])('is soon said of a long text: %s', (_, expression) => {
    const before = performance.now();
    writesDeciding(expression);
    expect(performance.now() - before).toBeLessThan(2_000);
  });
});
