import type { Clock } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import { createHttpGet } from '../../edge/platform/net/http-get.js';
import type { Random } from '../../edge/platform/random.js';
import type { Narrator } from './narrator.js';
import type { ProcessLine } from './process-log.js';
import {
  type Check,
  type RenderTable,
  type Scene,
  SceneFailure,
  SceneRun,
  type SceneRunOptions,
} from './scene.js';
import { Stage, type StageOptions } from './stage.js';

/** How one scene went. */
export interface SceneResult {
  readonly scene: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly checks: readonly Check[];
  /** What the aggregator logged. */
  readonly log: readonly { readonly level: string; readonly message: string }[];
  /** Why it broke off for another reason than a check; absent otherwise. */
  readonly error?: string;
}

export interface StoryOptions extends SceneRunOptions, Omit<StageOptions, 'overrideTokensPerBlock'> {
  readonly scenes: readonly Scene[];
  /** Whether the last scene's fleet is left running. */
  readonly keep: boolean;
}

export interface StoryModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly narrator: Narrator;
  readonly renderStatus: (address: string) => Promise<string>;
  readonly renderTable: RenderTable;
  readonly signal: AbortSignal;
  /** Gets every line of every process, for a log. */
  readonly onLine: (line: ProcessLine) => void;
}

/** A story that was played. */
export interface Story {
  readonly results: readonly SceneResult[];
  /** The last scene's fleet under `keep`; the caller closes it. */
  readonly kept: Stage | undefined;
}

/**
 * Plays scenes one after the other, each on a stage of its own. A scene that
 * does not go as expected is in the results, and the others are played all
 * the same. Rejects with `signal.reason` when that aborts; nothing is left
 * open then.
 */
export async function playStory(options: StoryOptions, modules: StoryModules): Promise<Story> {
  const results: SceneResult[] = [];
  let kept: Stage | undefined;
  for (const scene of options.scenes) {
    const isKept = options.keep && scene === options.scenes.at(-1);
    const { result, stage } = await playScene(scene, options, modules, isKept);
    results.push(result);
    kept = stage;
  }
  return { results, kept };
}

async function playScene(
  scene: Scene,
  options: StoryOptions,
  modules: StoryModules,
  isKept: boolean,
): Promise<{ readonly result: SceneResult; readonly stage: Stage | undefined }> {
  const { clock, random, narrator, renderStatus, renderTable, signal } = modules;
  signal.throwIfAborted();
  let run: SceneRun | undefined;
  const stage = new Stage(
    { ...options, overrideTokensPerBlock: scene.overrideTokensPerBlock },
    {
      clock,
      random,
      onLine: (line) => {
        modules.onLine(line);
        run?.onLine(line);
      },
      onView: (view) => run?.onView(view),
    },
  );
  run = new SceneRun(options, {
    scene,
    stage,
    narrator,
    clock,
    renderStatus,
    renderTable,
    signal,
    httpGet: createHttpGet({}, { clock }),
  });
  let stays = false;
  try {
    narrator.title(scene.title);
    await stage.open();
    const error = await scene.play(run).then(
      () => run?.pause(),
      (cause: unknown) => cause,
    );
    // Whatever broke it off then, that it was to end is why.
    signal.throwIfAborted();
    if (error !== undefined && !(error instanceof SceneFailure))
      narrator.failed(scene.title, describeError(error));
    stays = isKept;
    return { result: resultOf(scene, run, error), stage: stays ? stage : undefined };
  } finally {
    run.mute();
    if (!stays) await stage.close();
  }
}

function resultOf(scene: Scene, run: SceneRun, error: unknown): SceneResult {
  return {
    scene: scene.name,
    ok: error === undefined,
    seconds: Math.round(run.elapsedMs / 100) / 10,
    checks: run.checks,
    log: run.log.map(({ level, message }) => ({ level, message })),
    ...(error === undefined || error instanceof SceneFailure ? {} : { error: describeError(error) }),
  };
}
