/** How a topology's note begins where its GPUs may be others' too: a container beside the engine sees what it was given, not what the engine was. */
export const UNKNOWN_SHARE: string = "which of these GPUs are the engine's is not known";
