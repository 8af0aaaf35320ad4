/**
 * Settings among commands: comments to a shell, as a person writes them down
 * and does not run them.
 */

/** `# arguments of dynamo.router: --router-block-size 32` */
export function argumentsOf(program: string, text: string, note = ''): string {
  return `# arguments of ${program}: ${text}${remark(note)}`;
}

/** `# environment of dynamo.frontend: DYN_ROUTER_MODE=kv` */
export function environmentOf(program: string, text: string, note = ''): string {
  return `# environment of ${program}: ${text}${remark(note)}`;
}

/** A line of TensorRT-LLM's own YAML file. */
export function engineYaml(text: string, note = ''): string {
  return `# YAML of the engine (--extra-engine-args): ${text}${remark(note)}`;
}

function remark(note: string): string {
  return note === '' ? '' : ` (${note})`;
}
